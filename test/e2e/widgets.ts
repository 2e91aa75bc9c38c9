import { join } from 'node:path';
import { type Answer, digList, digText, type Http1, treeOf } from '../integration/client.js';
import { eventually, ROOT } from '../integration/server.js';
import { run, type TestCluster } from './cluster.js';

const CONVERT = join(ROOT, 'hack/resource-definition.mjs');

/** Converts files of CustomResourceDefinitions to ResourceDefinitions in YAML, with the conversion tool. */
export const converted = (...files: string[]): Promise<string> => run(process.execPath, [CONVERT, ...files]);

/** The group of the widgets in most tests. */
export const GROUP = 'e2e.example.com';

const CRD = 'apiextensions.k8s.io/v1/CustomResourceDefinition';
const RD = 'kubeannex.io/v1/ResourceDefinition';

/** Returns a definition that uses every kind of field, for a type of Annex or of the cluster itself. */
export function definitionText(group: string, by: 'annex' | 'cluster', versions: readonly string[] = ['v1']): string {
  const [, apiVersion, kind] = /^(.*)\/(\w+)$/.exec(by === 'annex' ? RD : CRD) ?? [];
  return JSON.stringify({
    apiVersion,
    kind,
    metadata: { name: `widgets.${group}` },
    spec: {
      group,
      scope: 'Namespaced',
      names: { plural: 'widgets', singular: 'widget', kind: 'Widget', shortNames: ['wg'], categories: ['things'] },
      versions: versions.map((name, i) => ({ ...VERSION, name, served: true, storage: i === 0 })),
    },
  });
}

const text = { type: 'string' };
const integer = { type: 'integer' };
const VERSION = {
  subresources: {
    status: {},
    scale: { specReplicasPath: '.spec.replicas', statusReplicasPath: '.status.replicas' },
  },
  selectableFields: [{ jsonPath: '.spec.colour' }],
  additionalPrinterColumns: [
    { name: 'Colour', type: 'string', jsonPath: '.spec.colour' },
    { name: 'Replicas', type: 'integer', jsonPath: '.spec.replicas', priority: 1 },
  ],
  schema: {
    openAPIV3Schema: {
      type: 'object',
      properties: {
        spec: {
          type: 'object',
          required: ['colour'],
          properties: {
            colour: { ...text, enum: ['red', 'green', 'blue'], maxLength: 5 },
            size: { ...text, pattern: '^[a-z]+$', maxLength: 8 },
            replicas: { ...integer, minimum: 0, default: 1 },
            parts: {
              type: 'array',
              maxItems: 10,
              items: { type: 'object', required: ['name'], properties: { name: text, count: integer } },
              'x-kubernetes-list-type': 'map',
              'x-kubernetes-list-map-keys': ['name'],
            },
            free: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true },
          },
          'x-kubernetes-validations': [
            { rule: "self.replicas < 100 || self.colour == 'red'", message: 'only red widgets have many replicas' },
            {
              rule: 'self.replicas >= oldSelf.replicas - 50',
              messageExpression: "'too many ' + self.colour + ' ones go at once'",
            },
          ],
        },
        status: {
          type: 'object',
          properties: {
            replicas: integer,
            conditions: {
              type: 'array',
              items: { type: 'object', required: ['type'], properties: { type: text, status: text } },
              'x-kubernetes-list-type': 'map',
              'x-kubernetes-list-map-keys': ['type'],
            },
          },
        },
      },
    },
  },
};

/** Creates the widgets definition of a group and waits until the cluster serves it. */
export async function defineWidgets(
  cluster: TestCluster,
  group: string,
  by: 'annex' | 'cluster' = 'annex',
): Promise<void> {
  await cluster.kubectl.ok(['create', '-f', '-'], { stdin: definitionText(group, by) });
  await available(cluster, group, 'v1');
  await discovered(cluster, group, 'widgets');
}

export function widgetText(name: string, spec: object, metadata: object = {}, group = GROUP): string {
  return JSON.stringify({ apiVersion: `${group}/v1`, kind: 'Widget', metadata: { name, ...metadata }, spec });
}

export const widgetsPath = (namespace: string, name = '', group = GROUP): string =>
  `/apis/${group}/v1/namespaces/${namespace}/widgets${name === '' ? '' : `/${name}`}`;

/** Waits until the aggregator proxies requests for the group version. */
export async function available({ kubectl, http }: TestCluster, group: string, version: string): Promise<void> {
  const service = `apiservice/${version}.${group}`;
  await eventually(`${service} is there`, async () =>
    (await kubectl.run(['get', service])).code === 0 ? true : undefined,
  );
  await kubectl.ok(['wait', service, '--for=condition=Available', '--timeout=30s']);
  await eventually(`${group}/${version} is served`, async () =>
    (await http.get(`/apis/${group}/${version}`)).status === 200 ? true : undefined,
  );
}

export const DISCOVERY = 'application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList';

/**
 * Waits until the cluster's discovery lists the resource. The cluster reads the discovery of extension servers once a minute. A definition
 * in an existing group version must appear sooner.
 */
export async function discovered({ http }: TestCluster, group: string, resource: string): Promise<void> {
  await eventually(`${resource}.${group} is in the cluster's discovery`, async () => {
    const groups = digList(treeOf(await http.get('/apis', { accept: DISCOVERY })), 'items');
    const found = groups.find((one) => digText(one, 'metadata', 'name') === group);
    const resources = digList(found, 'versions').flatMap((version) => digList(version, 'resources'));
    return resources.some((one) => digText(one, 'resource') === resource) ? true : undefined;
  });
}

export interface Condition {
  readonly status: string;
  readonly reason: string;
  readonly message: string;
}

/** Returns a condition of an object as soon as it is present. */
export function condition(
  { kubectl }: TestCluster,
  object: string,
  type: string,
  wanted: (found: Condition) => boolean = () => true,
): Promise<Condition> {
  return eventually(`${object} has the condition ${type}`, async () => {
    const { code, stdout } = await kubectl.run(['get', object, '-o', 'json']);
    if (code !== 0) return undefined;
    const found = digList(treeOf({ text: stdout }), 'status', 'conditions').find(
      (one) => digText(one, 'type') === type,
    );
    if (found === undefined) return undefined;
    const said = {
      status: digText(found, 'status'),
      reason: digText(found, 'reason'),
      message: digText(found, 'message'),
    };
    return wanted(said) ? said : undefined;
  });
}

/** Reads like client-go: retries after the time a response asks for. A kube-apiserver that is loading a type answers 429 with Retry-After. */
export function read(http: Http1, path: string): Promise<Answer> {
  return eventually(`GET ${path}`, async () => {
    const answer = await http.get(path);
    return answer.headers['retry-after'] === undefined ? answer : undefined;
  });
}
