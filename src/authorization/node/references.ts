import { type JsonObject, objectAt, objectsOf, stringAt } from '../../apimachinery/json/json.js';
import type { KubeObject } from '../../apimachinery/meta/meta.js';

/** Kinds that a node may access through its pods. */
export type ReferenceKind =
  'pod' | 'serviceaccount' | 'secret' | 'configmap' | 'persistentvolumeclaim' | 'resourceclaim';

export interface Reference {
  readonly kind: ReferenceKind;
  readonly name: string;
}

const MIRROR_POD = 'kubernetes.io/config.mirror';
/** Volume sources that refer to a secret in the pod's namespace, with the path of its name. */
const SECRET_SOURCES: readonly (readonly [string, readonly string[]])[] = [
  ['azureFile', ['secretName']],
  ['cephfs', ['secretRef', 'name']],
  ['cinder', ['secretRef', 'name']],
  ['flexVolume', ['secretRef', 'name']],
  ['rbd', ['secretRef', 'name']],
  ['secret', ['secretName']],
  ['scaleIO', ['secretRef', 'name']],
  ['iscsi', ['secretRef', 'name']],
  ['storageos', ['secretRef', 'name']],
  ['csi', ['nodePublishSecretRef', 'name']],
];

function textAt(object: JsonObject | undefined, path: readonly string[]): string {
  let current: JsonObject | undefined = object;
  for (const key of path.slice(0, -1)) current = objectAt(current, key);
  return stringAt(current, path.at(-1) ?? '') ?? '';
}

/** Returns the objects in the pod's namespace that a node may read because the pod is bound to it. */
export function podReferences(pod: KubeObject): Reference[] {
  const name = pod.metadata.name ?? '';
  const itself: Reference[] = name === '' ? [] : [{ kind: 'pod', name }];
  // A node creates mirror pods itself and must not gain access through them.
  return pod.metadata.annotations?.[MIRROR_POD] === undefined ? [...itself, ...namedBy(pod)] : itself;
}

/** Returns the names of the secrets that a pod refers to. */
export const podSecretNames = (pod: KubeObject): string[] =>
  namedBy(pod).flatMap(({ kind, name }) => (kind === 'secret' ? [name] : []));

/** Returns the names of the config maps that a pod refers to. */
export const podConfigMapNames = (pod: KubeObject): string[] =>
  namedBy(pod).flatMap(({ kind, name }) => (kind === 'configmap' ? [name] : []));

function namedBy(pod: KubeObject): Reference[] {
  const found: Reference[] = [];
  const add = (kind: ReferenceKind, name: string): void => {
    if (name !== '') found.push({ kind, name });
  };
  const spec = objectAt(pod, 'spec') ?? {};
  add('serviceaccount', stringAt(spec, 'serviceAccountName') ?? '');
  for (const secret of objectsOf(spec['imagePullSecrets'])) add('secret', stringAt(secret, 'name') ?? '');
  for (const list of ['initContainers', 'containers', 'ephemeralContainers']) {
    for (const container of objectsOf(spec[list])) addContainer(container, add);
  }
  for (const volume of objectsOf(spec['volumes'])) addVolume(pod, volume, add);
  addClaims(pod, spec, add);
  return found;
}

type Add = (kind: ReferenceKind, name: string) => void;

function addContainer(container: JsonObject, add: Add): void {
  for (const from of objectsOf(container['envFrom'])) {
    add('secret', textAt(from, ['secretRef', 'name']));
    add('configmap', textAt(from, ['configMapRef', 'name']));
  }
  for (const variable of objectsOf(container['env'])) {
    add('secret', textAt(variable, ['valueFrom', 'secretKeyRef', 'name']));
    add('configmap', textAt(variable, ['valueFrom', 'configMapKeyRef', 'name']));
  }
}

function addVolume(pod: KubeObject, volume: JsonObject, add: Add): void {
  for (const [source, path] of SECRET_SOURCES) add('secret', textAt(objectAt(volume, source), path));
  add('configmap', textAt(volume, ['configMap', 'name']));
  for (const source of objectsOf(objectAt(volume, 'projected')?.['sources'])) {
    add('secret', textAt(source, ['secret', 'name']));
    add('configmap', textAt(source, ['configMap', 'name']));
  }
  add('persistentvolumeclaim', textAt(volume, ['persistentVolumeClaim', 'claimName']));
  if (objectAt(volume, 'ephemeral') !== undefined) {
    add('persistentvolumeclaim', `${pod.metadata.name ?? ''}-${stringAt(volume, 'name') ?? ''}`);
  }
}

function addClaims(pod: KubeObject, spec: JsonObject, add: Add): void {
  const status = objectAt(pod, 'status') ?? {};
  const statuses = objectsOf(status['resourceClaimStatuses']);
  for (const claim of objectsOf(spec['resourceClaims'])) {
    const direct = stringAt(claim, 'resourceClaimName') ?? '';
    const made = statuses.find((candidate) => candidate['name'] === claim['name']);
    add('resourceclaim', direct === '' ? (stringAt(made, 'resourceClaimName') ?? '') : direct);
  }
  add('resourceclaim', textAt(status, ['extendedResourceClaimStatus', 'resourceClaimName']));
}

export interface VolumeReferences {
  /** `namespace/name` of the bound claim; undefined if there is none. */
  readonly claim: string | undefined;
  /** `namespace/name` of each secret that kubelets need for the volume. */
  readonly secrets: readonly string[];
}

/** Sources whose secret is in the claim's namespace if the reference has no namespace. */
const CLAIM_NAMESPACE_SOURCES = ['cephfs', 'flexVolume', 'rbd', 'scaleIO', 'iscsi'];
const NODE_SECRETS = ['nodePublishSecretRef', 'nodeStageSecretRef', 'nodeExpandSecretRef'];

export function volumeReferences(volume: KubeObject): VolumeReferences {
  const spec = objectAt(volume, 'spec') ?? {};
  const claimRef = objectAt(spec, 'claimRef');
  if (claimRef === undefined) return { claim: undefined, secrets: [] };
  const claimNamespace = stringAt(claimRef, 'namespace') ?? '';
  const secrets: string[] = [];
  const add = (ref: JsonObject | undefined, fallback: string): void => {
    const name = stringAt(ref, 'name') ?? '';
    const namespace = stringAt(ref, 'namespace') ?? '';
    if (name !== '') secrets.push(`${namespace === '' ? fallback : namespace}/${name}`);
  };
  const azure = objectAt(spec, 'azureFile');
  if (azure !== undefined) {
    add({ name: azure['secretName'], namespace: azure['secretNamespace'] }, claimNamespace);
  }
  for (const source of CLAIM_NAMESPACE_SOURCES) add(objectAt(objectAt(spec, source), 'secretRef'), claimNamespace);
  for (const source of ['cinder', 'storageos']) add(objectAt(objectAt(spec, source), 'secretRef'), '');
  for (const ref of NODE_SECRETS) add(objectAt(objectAt(spec, 'csi'), ref), '');
  return { claim: `${claimNamespace}/${stringAt(claimRef, 'name') ?? ''}`, secrets };
}
