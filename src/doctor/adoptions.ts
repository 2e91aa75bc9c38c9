import { conditionsOf } from '../apimachinery/meta/conditions.js';
import { type JsonObject, objectAt, objectsOf, textOf } from '../apimachinery/json/json.js';
import type { Cluster } from './cluster.js';
import { type Finding, ok, skipped, warning, failed } from './finding.js';
import { nameOf } from '../apimachinery/meta/meta.js';

const CHECK = 'adoptions';

/** Checks the state of the Adoptions. */
export async function checkAdoptions(cluster: Cluster): Promise<Finding> {
  try {
    const { status, body } = await cluster.call('GET', '/apis/kubeannex.io/v1alpha1/adoptions');
    if (status === 404 || status === 503) return skipped(CHECK, 'the cluster does not serve them');
    if (status === 403) return warning(CHECK, 'the identity in use may not list adoptions.kubeannex.io');
    if (status !== 200) return skipped(CHECK, `the cluster responded with status ${status}`);
    const all = objectsOf(body['items']);
    const failing = all.map(failureMessage).find((text) => text !== '');
    if (failing !== undefined)
      return failed(CHECK, new Error(failing), 'read the conditions with kubectl describe adoption');
    return ok(CHECK, all.map(summary).join('; '));
  } catch (error) {
    return failed(CHECK, error, 'let the cluster reach Annex: see the checks of the APIServices');
  }
}

function summary(adoption: JsonObject): string {
  const status = objectAt(adoption, 'status');
  return `${nameOf(adoption)} ${textOf(status?.['phase'])} ${textOf(status?.['copied'])}`;
}

/** Returns the message of the first failed condition; '' if there is none. */
function failureMessage(adoption: JsonObject): string {
  const isWanted = objectAt(adoption, 'spec')?.['servedBy'] === 'Annex';
  const bad = conditionsOf(adoption).find(
    ({ type, status, reason }) =>
      status === 'False' &&
      (type === 'Accepted' ||
        type === 'Discovered' ||
        (type === 'Switchable' && isWanted) ||
        ['NoDefinitions', 'StoreWithoutCopies', 'ClusterError', 'Different'].includes(textOf(reason))),
  );
  return bad === undefined ? '' : `${nameOf(adoption)}: ${textOf(bad['message'])}`;
}
