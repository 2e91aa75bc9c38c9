import { textOf } from '../apimachinery/json/json.js';
import { API_SERVICES, serviceOf } from '../client/api-services.js';
import type { ClusterClient } from '../client/cluster-client.js';
import { isManagedByAnnex } from './api-services.js';

/** The APIService of ResourceDefinition. */
const DEFINITIONS = 'v1.kubeannex.io';

/**
 * Returns the Service of the release that serves ResourceDefinitions through the cluster, as `<namespace>/<name>`; undefined if it is this
 * one, or none. Throws ClusterError if the cluster does not answer.
 */
export async function releaseWithDefinitions(
  client: Pick<ClusterClient, 'must'>,
  own: { readonly namespace: string; readonly name: string },
): Promise<string | undefined> {
  const service = await client.must('GET', `${API_SERVICES}/${DEFINITIONS}`);
  const target = service === undefined ? undefined : serviceOf(service);
  if (service === undefined || target === undefined || !isManagedByAnnex(service)) return undefined;
  const isOwn = target['namespace'] === own.namespace && target['name'] === own.name;
  return isOwn ? undefined : `${textOf(target['namespace'])}/${textOf(target['name'])}`;
}
