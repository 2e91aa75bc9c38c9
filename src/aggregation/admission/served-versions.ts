import { type JsonObject, objectsOf } from '../../apimachinery/json/json.js';
import type { GroupVersion } from '../../apimachinery/meta/meta.js';
import { ClusterError, type ClusterClient } from '../../client/cluster-client.js';

/** A resource as described by the cluster's discovery. */
export interface DiscoveredResource {
  readonly resource: string;
  readonly kind: string;
  readonly namespaced: boolean;
}

/** Returns the path below which the cluster serves a group version. */
export const groupVersionPath = ({ group, version }: GroupVersion): string =>
  group === '' ? `/api/${version}` : `/apis/${group}/${version}`;

/** Returns the resources that the cluster serves in a group version, without subresources; none if it is not served. Throws ClusterError. */
export async function discover(
  client: Pick<ClusterClient, 'call'>,
  groupVersion: GroupVersion,
): Promise<readonly DiscoveredResource[]> {
  const path = groupVersionPath(groupVersion);
  const { status, body } = await client.call('GET', path);
  if (status === 404) return [];
  if (status !== 200) throw new ClusterError(status, `GET ${path}: status ${status}`);
  return objectsOf(body['resources']).flatMap((one) => resourceOf(one) ?? []);
}

function resourceOf({ name, kind, namespaced }: JsonObject): DiscoveredResource | undefined {
  if (typeof name !== 'string' || typeof kind !== 'string' || name.includes('/')) return undefined;
  return { resource: name, kind, namespaced: namespaced === true };
}
