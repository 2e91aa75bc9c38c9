import { objectAt, stringAt, textAt } from '../apimachinery/json/json.js';
import type { KubeObject } from '../apimachinery/meta/meta.js';
import type { Quantity } from '../apimachinery/meta/quantity.js';
import { type Evaluator, matchesValues } from './evaluator.js';
import { countName } from './object-count.js';
import { ONE, type ResourceList, resourceList } from './resource-list.js';

const CLAIMS = { group: '', resource: 'persistentvolumeclaims' };
const COUNT = countName(CLAIMS);
const STORAGE = 'requests.storage';
const NAMES = ['persistentvolumeclaims', STORAGE];
const STORAGE_CLASS_SUFFIX = '.storageclass.storage.k8s.io/';
const CLASS_ANNOTATION = 'volume.beta.kubernetes.io/storage-class';

/** Measures claims and the storage that they request, in total and by storage class. */
export const claims: Evaluator = {
  groupResource: CLAIMS,
  readsObjects: true,
  handles: ({ operation, subresource }) => subresource === '' || (subresource === 'status' && operation === 'UPDATE'),
  matchesResource: (name) =>
    name === COUNT || NAMES.includes(name) || NAMES.some((one) => name.endsWith(`${STORAGE_CLASS_SUFFIX}${one}`)),
  matchesScope: (requirement, claim) => {
    if (requirement.scopeName !== 'VolumeAttributesClass') return false;
    return matchesValues(requirement, attributesClasses(claim));
  },
  usage(claim): ResourceList {
    const usage = new Map([
      ['persistentvolumeclaims', ONE],
      [COUNT, ONE],
    ]);
    const className = classOf(claim);
    if (className !== '') usage.set(`${className}${STORAGE_CLASS_SUFFIX}persistentvolumeclaims`, ONE);
    const storage = storageOf(claim);
    if (storage !== undefined) {
      usage.set(STORAGE, storage);
      if (className !== '') usage.set(`${className}${STORAGE_CLASS_SUFFIX}${STORAGE}`, storage);
    }
    return usage;
  },
};

function classOf(claim: KubeObject): string {
  return claim.metadata.annotations?.[CLASS_ANNOTATION] ?? textAt(objectAt(claim, 'spec'), 'storageClassName');
}

/** Returns the storage in whole bytes: the request, or the allocated storage if that is larger. */
function storageOf(claim: KubeObject): Quantity | undefined {
  const requests = resourceList(objectAt(objectAt(claim, 'spec'), 'resources')?.['requests']);
  const asked = requests.get('storage')?.roundedUpTo(0);
  if (asked === undefined) return undefined;
  const given = resourceList(objectAt(claim, 'status')?.['allocatedResources']).get('storage');
  return given !== undefined && given.compare(asked) > 0 ? given.roundedUpTo(0) : asked;
}

function attributesClasses(claim: KubeObject): ReadonlySet<string> {
  const status = objectAt(claim, 'status');
  const names = [
    stringAt(objectAt(claim, 'spec'), 'volumeAttributesClassName'),
    stringAt(status, 'currentVolumeAttributesClassName'),
    stringAt(objectAt(status, 'modifyVolumeStatus'), 'targetVolumeAttributesClassName'),
  ];
  return new Set(names.filter((name): name is string => name !== undefined && name !== ''));
}
