import { objectAt, stringAt } from '../../../apimachinery/json/json.js';
import { ClusterError } from '../../../client/cluster-error.js';
import type { Revision } from '../../../storage/interfaces.js';
import type { KubeApiserver } from './kube-apiservers.js';

/** Reports whether a kube-apiserver routes all lists to Annex, whose revisions begin at `first`: those of the cluster are lower. */
export const routedToAnnex = (server: KubeApiserver, lists: readonly string[], first: Revision): Promise<boolean> =>
  all(server, lists, (revision) => revision >= first);

export const routedToCluster = (server: KubeApiserver, lists: readonly string[], first: Revision): Promise<boolean> =>
  all(server, lists, (revision) => revision < first);

async function all(
  server: KubeApiserver,
  lists: readonly string[],
  test: (revision: Revision) => boolean,
): Promise<boolean> {
  for (const list of lists) {
    const { status, body } = await server.call('GET', list);
    if (status !== 200) throw new ClusterError(status, stringAt(body, 'message') ?? `GET ${list}: ${status}`);
    if (!test(Number(stringAt(objectAt(body, 'metadata'), 'resourceVersion')))) return false;
  }
  return true;
}
