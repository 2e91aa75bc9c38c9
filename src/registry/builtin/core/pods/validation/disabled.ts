import { type JsonObject, objectAt } from '../../../../../apimachinery/json/json.js';
import { objectsOf } from '../../../../../apimachinery/json/values.js';
import { CONTAINER_LISTS, STATUS_LISTS } from '../fields.js';

const PROJECTIONS = ['clusterTrustBundle', 'podCertificate'];

/** Drops the fields of features that are off by default in Kubernetes. */
export function dropDisabled(spec: JsonObject): void {
  delete spec['schedulingGroup'];
  for (const volume of objectsOf(spec['volumes'])) {
    for (const source of objectsOf(objectAt(volume, 'projected')?.['sources'])) {
      for (const name of PROJECTIONS) delete source[name];
    }
  }
  for (const container of CONTAINER_LISTS.flatMap((list) => objectsOf(spec[list]))) {
    const lifecycle = objectAt(container, 'lifecycle');
    if (lifecycle?.['stopSignal'] === undefined) continue;
    delete lifecycle['stopSignal'];
    if (Object.keys(lifecycle).length === 0) delete container['lifecycle'];
  }
}

/** Drops the fields of such features in a pod's status. */
export function dropDisabledStatus(status: JsonObject): void {
  delete status['nodeAllocatableResourceClaimStatuses'];
  for (const one of STATUS_LISTS.flatMap((list) => objectsOf(status[list]))) {
    for (const mount of objectsOf(one['volumeMounts'])) delete mount['volumeStatus'];
  }
}
