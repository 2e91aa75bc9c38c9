import { isConditionTrue } from '../apimachinery/meta/conditions.js';
import { type JsonObject, objectsOf } from '../apimachinery/json/json.js';
import type { KubeObject } from '../apimachinery/meta/meta.js';
import { missingInDiscovery } from '../adoption/preflight/discovery.js';
import { discoveredType } from '../adoption/cluster/cluster-definitions.js';
import type { KubeApiserver, KubeApiservers } from '../adoption/cluster/kube-apiservers.js';
import { ClusterError } from '../client/cluster-client.js';
import { messageOf } from '../util/error-message.js';
import { NEVER_ABORTED } from '../util/never-aborted.js';
import type { Cluster } from './cluster.js';
import { failed, type Finding, ok, skipped, warning } from './finding.js';

const CHECK = 'discovery';

/**
 * Checks that every kube-apiserver lists the types of the CustomResourceDefinitions: kubectl, the garbage collector and the deletion of
 * namespaces pass others by. A group that an earlier version of Annex gave back may be missing.
 */
export async function checkDiscovery(cluster: Cluster, servers: Pick<KubeApiservers, 'everywhere'>): Promise<Finding> {
  const found: string[] = [];
  try {
    const { status, body } = await cluster.call('GET', '/apis/apiextensions.k8s.io/v1/customresourcedefinitions');
    if (status !== 200) return skipped(CHECK, `the cluster responded with status ${status}`);
    const crds = objectsOf(body['items']) as readonly JsonObject[] as readonly KubeObject[];
    const types = crds.filter((crd) => isConditionTrue(crd, 'Established')).map(discoveredType);
    const isListed = async (server: KubeApiserver): Promise<boolean> => {
      const missing = await missingInDiscovery(server, types);
      if (missing === '') return true;
      found.push(missing);
      throw new Error(missing);
    };
    await servers.everywhere(CHECK, isListed, 0, NEVER_ABORTED);
    return ok(CHECK, '');
  } catch (error) {
    if (error instanceof ClusterError && error.status === 403)
      return skipped(CHECK, 'only adoptions need it, and the right to list the endpoints of kube-apiserver');
    // Not every cluster lets pods reach each kube-apiserver by its address.
    if (found.length === 0) return warning(CHECK, `not every kube-apiserver answers: ${messageOf(error)}`);
    return failed(
      CHECK,
      error,
      'delete the APIService of the version (kubectl delete apiservice VERSION.GROUP); kube-apiserver makes it anew and looks again',
    );
  }
}
