import { type JsonObject, objectAt, stringAt } from '../apimachinery/json/json.js';
import type { KubeObject } from '../apimachinery/meta/meta.js';
import { type ClusterClient, ClusterError } from './cluster-client.js';

/** The server that receives the requests for a group. Ordinary: Annex, unless another server has the group. */
export type GroupRoute = 'Ordinary' | 'Cluster' | 'Annex';

export const API_SERVICES = '/apis/apiregistration.k8s.io/v1/apiservices';

/** The label that kube-apiserver maintains on APIServices of CustomResourceDefinitions. */
export const AUTOMANAGED = 'kube-aggregator.kubernetes.io/automanaged';

/** Reports whether kube-apiserver itself maintains the APIService, which sends requests to no other server. */
export const isAutomanaged = (service: KubeObject): boolean =>
  stringAt(service.metadata.labels, AUTOMANAGED) !== undefined && serviceOf(service) === undefined;

/** Returns the reference to the Service; undefined if kube-apiserver itself serves the group version. */
export const serviceOf = (service: JsonObject): JsonObject | undefined =>
  objectAt(objectAt(service, 'spec'), 'service');

/**
 * Deletes an APIService in the state in which it was read. If the cluster serves the group version from a CustomResourceDefinition,
 * kube-apiserver makes its own within a second, and answers requests itself in the meantime. An update that removes the Service is not
 * enough: kube-apiserver then goes on asking that Service for discovery, and its answer outranks the cluster's own resources. Throws
 * ClusterError 409 if the APIService has changed.
 */
export async function deleteApiService(client: Pick<ClusterClient, 'must'>, service: KubeObject): Promise<void> {
  const { name = '', uid = '', resourceVersion = '' } = service.metadata;
  const preconditions = { uid, resourceVersion };
  await client.must('DELETE', `${API_SERVICES}/${name}`, { apiVersion: 'v1', kind: 'DeleteOptions', preconditions });
}

/**
 * Deletes APIServices that kube-apiserver maintains; it makes them anew, and looks again at what it lists. A kube-apiserver that learns of a
 * deletion together with the replacement does not notice it: the caller repeats this until each has.
 */
export async function renewApiServices(client: Pick<ClusterClient, 'must'>, names: readonly string[]): Promise<void> {
  for (const name of names) {
    const service = await client.must('GET', `${API_SERVICES}/${name}`);
    if (service === undefined || !isAutomanaged(service)) continue;
    await deleteApiService(client, service).catch((error: unknown) => {
      // A kube-apiserver was faster.
      if (!(error instanceof ClusterError && error.status === 409)) throw error;
    });
  }
}
