import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { JsonObject } from '../../src/apimachinery/json/json.js';

export interface Manifest extends JsonObject {
  apiVersion: string;
  kind: string;
  metadata: JsonObject & { name: string; labels?: JsonObject };
}

interface Rule extends JsonObject {
  apiGroups: string[];
}

export interface Policy extends Manifest {
  spec: JsonObject & {
    matchConstraints: JsonObject & { resourceRules: Rule[]; excludeResourceRules?: Rule[] };
    paramKind?: JsonObject;
  };
}

/** An object, the policy that it is a sample of, and the name that its project gave it. */
export interface Sample {
  readonly policy: string;
  readonly name: string;
  readonly object: Manifest;
}

/** The published policies of a project, with its samples. */
export interface Published {
  readonly definitions: readonly Manifest[];
  readonly params: readonly Manifest[];
  readonly policies: readonly Policy[];
  readonly objects: readonly Manifest[];
  readonly samples: readonly Sample[];
}

interface File {
  readonly definitions?: readonly Manifest[];
  readonly params?: readonly Manifest[];
  readonly policies: readonly Policy[];
  readonly objects?: readonly Manifest[];
  /** The project whose objects are the samples. */
  readonly objectsOf?: string;
  readonly samples: readonly (readonly [string, string, number])[];
}

export const DATA = join(__dirname, 'data');

const readFile = (project: string): File => JSON.parse(readFileSync(join(DATA, `${project}.json`), 'utf8')) as File;

export function readPublished(project: string): Published {
  const file = readFile(project);
  const objects = (file.objects ?? readFile(file.objectsOf ?? '').objects ?? []).map(moved);
  return {
    definitions: file.definitions ?? [],
    params: file.params ?? [],
    policies: file.policies.map(alsoForMoved),
    objects,
    samples: file.samples.map(([policy, name, index]) => {
      const object = objects[index];
      if (object === undefined) throw new Error(`${project}: sample ${name} has no object`);
      return { policy, name, object };
    }),
  };
}

/** Groups that Annex does not serve itself: on both servers, custom resources of other groups replace them. */
const MOVED: Readonly<Record<string, string>> = {
  apps: 'apps.example.com',
  autoscaling: 'autoscaling.example.com',
  batch: 'batch.example.com',
  'discovery.k8s.io': 'discovery.example.com',
  'networking.k8s.io': 'networking.example.com',
  policy: 'policy.example.com',
  'storage.k8s.io': 'storage.example.com',
};
const MOVED_CORE = new Set(['PodTemplate', 'ReplicationController']);

function moved(object: Manifest): Manifest {
  const { group, version } = groupVersion(object);
  const to = group === '' && MOVED_CORE.has(object.kind) ? 'core.example.com' : MOVED[group];
  return to === undefined ? object : { ...object, apiVersion: `${to}/${version}` };
}

function alsoForMoved(policy: Policy): Policy {
  const { matchConstraints } = policy.spec;
  for (const rule of [...matchConstraints.resourceRules, ...(matchConstraints.excludeResourceRules ?? [])]) {
    const groups = rule.apiGroups.flatMap((group) => (group === '' ? 'core.example.com' : (MOVED[group] ?? [])));
    rule.apiGroups = [...rule.apiGroups, ...groups];
  }
  return policy;
}

function groupVersion({ apiVersion }: Manifest): { group: string; version: string } {
  const [first = '', second] = apiVersion.split('/');
  return second === undefined ? { group: '', version: first } : { group: first, version: second };
}

/** Returns the definitions of the custom resources that `moved` produces. */
export function definitionsOfMoved(objects: readonly Manifest[]): Manifest[] {
  const found = new Map<string, Manifest>();
  for (const object of objects) {
    const { group, version } = groupVersion(object);
    if (!group.endsWith('.example.com')) continue;
    const plural = pluralOf(object.kind);
    const name = `${plural}.${group}`;
    const schema = { openAPIV3Schema: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true } };
    found.set(name, {
      apiVersion: 'apiextensions.k8s.io/v1',
      kind: 'CustomResourceDefinition',
      metadata: { name },
      spec: {
        group,
        scope: 'Namespaced',
        names: { plural, kind: object.kind },
        versions: [{ name: version, served: true, storage: true, schema }],
      },
    });
  }
  return [...found.values()];
}

export function pluralOf(kind: string): string {
  const lower = kind.toLowerCase();
  if (lower === 'endpoints') return lower;
  if (lower.endsWith('s')) return `${lower}es`;
  return lower.endsWith('y') ? `${lower.slice(0, -1)}ies` : `${lower}s`;
}

const CLUSTER_SCOPED = new Set([
  'ClusterRole',
  'ClusterRoleBinding',
  'ControlConfiguration',
  'CustomResourceDefinition',
  'MutatingAdmissionPolicy',
  'MutatingAdmissionPolicyBinding',
  'Namespace',
  'ValidatingAdmissionPolicy',
  'ValidatingAdmissionPolicyBinding',
]);
export const NAMESPACE = 'published';

export const isNamespaced = ({ kind }: Manifest): boolean => !CLUSTER_SCOPED.has(kind);

/** Returns the path where objects of this kind are created. */
export function collectionOf(object: Manifest): string {
  const { group, version } = groupVersion(object);
  const root = group === '' ? `/api/${version}` : `/apis/${group}/${version}`;
  return `${root}${isNamespaced(object) ? `/namespaces/${NAMESPACE}` : ''}/${pluralOf(object.kind)}`;
}
