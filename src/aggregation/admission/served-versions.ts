import { isObject, type JsonObject } from '../../apimachinery/json/json.js';
import type { GroupVersion } from '../../apimachinery/meta/meta.js';
import { ClusterError, type ClusterClient } from '../../client/cluster-client.js';

/** A resource as the cluster's discovery describes it. */
export interface DiscoveredResource {
  readonly resource: string;
  readonly kind: string;
  readonly namespaced: boolean;
}

/** The path below which the cluster serves a group version. */
export const groupVersionPath = ({ group, version }: GroupVersion): string =>
  group === '' ? `/api/${version}` : `/apis/${group}/${version}`;

/** What the cluster serves of a group version, without subresources; none where it does not know it. Throws ClusterError. */
export async function discover(
  client: Pick<ClusterClient, 'call'>,
  groupVersion: GroupVersion,
): Promise<readonly DiscoveredResource[]> {
  const path = groupVersionPath(groupVersion);
  const { status, body } = await client.call('GET', path);
  if (status === 404) return [];
  if (status !== 200) throw new ClusterError(status, `GET ${path}: status ${status}`);
  const resources = Array.isArray(body['resources']) ? body['resources'] : [];
  return resources.filter((one): one is JsonObject => isObject(one)).flatMap((one) => resourceOf(one) ?? []);
}

function resourceOf({ name, kind, namespaced }: JsonObject): DiscoveredResource | undefined {
  if (typeof name !== 'string' || typeof kind !== 'string' || name.includes('/')) return undefined;
  return { resource: name, kind, namespaced: namespaced === true };
}
