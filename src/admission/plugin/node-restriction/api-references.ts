import { type JsonObject, objectAt, objectsOf, textAt } from '../../../apimachinery/json/json.js';
import { type KubeObject, quote } from '../../../apimachinery/meta/meta.js';
import { podConfigMapNames, podSecretNames } from '../../../authorization/node/references.js';

/** The kind of an API object that a pod refers to, or the reason why it cannot be determined. */
export interface ApiReference {
  readonly resource: string;
  readonly error?: string;
}

/** Volume sources that refer to no API object. */
const SELF_CONTAINED = [
  'awsElasticBlockStore',
  'azureDisk',
  'cephfs',
  'cinder',
  'downwardAPI',
  'emptyDir',
  'fc',
  'flexVolume',
  'flocker',
  'gcePersistentDisk',
  'gitRepo',
  'hostPath',
  'image',
  'iscsi',
  'nfs',
  'photonPersistentDisk',
  'portworxVolume',
  'quobyte',
  'rbd',
  'scaleIO',
  'storageos',
  'vsphereVolume',
];
const VOLUMES: readonly (readonly [string, string])[] = [
  ['configMap', 'configmaps (via configmap volumes)'],
  ['secret', 'secrets (via secret volumes)'],
  ['csi', 'csidrivers (via CSI volumes)'],
  ['glusterfs', 'endpoints (via glusterFS volumes)'],
  ['persistentVolumeClaim', 'persistentvolumeclaims'],
  ['ephemeral', 'persistentvolumeclaims (via ephemeral volumes)'],
  ['azureFile', 'secrets (via azureFile volumes)'],
];
const PROJECTIONS: readonly (readonly [string, string])[] = [
  ['configMap', 'configmaps (via projected volumes)'],
  ['secret', 'secrets (via projected volumes)'],
  ['serviceAccountToken', 'serviceaccounts (via projected volumes)'],
  ['clusterTrustBundle', 'clustertrustbundles'],
  ['podCertificate', 'podcertificates'],
];

/** Returns the first kind of API object that the pod refers to, or undefined if it refers to none. */
export function apiReference(pod: KubeObject): ApiReference | undefined {
  const spec = objectAt(pod, 'spec') ?? {};
  if (textAt(spec, 'serviceAccountName') !== '') return { resource: 'serviceaccounts' };
  if (podSecretNames(pod).length > 0) return { resource: 'secrets' };
  if (podConfigMapNames(pod).length > 0) return { resource: 'configmaps' };
  if (objectsOf(spec['resourceClaims']).length > 0) return { resource: 'resourceclaims' };
  for (const volume of objectsOf(spec['volumes'])) {
    const found = ofVolume(volume);
    if (found !== undefined) return found;
  }
  return undefined;
}

function ofVolume(volume: JsonObject): ApiReference | undefined {
  if (SELF_CONTAINED.some((source) => volume[source] !== undefined)) return undefined;
  const found = VOLUMES.find(([source]) => volume[source] !== undefined);
  if (found !== undefined) return { resource: found[1] };
  const name = textAt(volume, 'name');
  const projected = objectAt(volume, 'projected');
  if (projected === undefined) return { resource: '', error: `unknown volume type for volume  ${quote(name)}` };
  for (const source of objectsOf(projected['sources'])) {
    const projection = PROJECTIONS.find(([kind]) => source[kind] !== undefined);
    if (projection !== undefined) return { resource: projection[1] };
    if (source['downwardAPI'] === undefined) {
      return { resource: '', error: `unknown source for projected volume ${quote(name)}` };
    }
  }
  return undefined;
}
