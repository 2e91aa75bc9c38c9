import { objectsOf, textOf } from '../apimachinery/json/json.js';
import { conditionsOf } from '../apimachinery/meta/conditions.js';
import { nameOf } from '../apimachinery/meta/meta.js';
import type { Cluster } from './cluster.js';
import { failed, type Finding, ok, skipped, warning } from './finding.js';

const CHECK = 'registration';

/** Checks that the cluster sends requests for all ResourceDefinitions to Annex. */
export async function checkRegistration(cluster: Cluster): Promise<Finding> {
  try {
    const { status, body } = await cluster.call('GET', '/apis/kubeannex.io/v1/resourcedefinitions');
    if (status === 403) return warning(CHECK, 'the identity in use may not list resourcedefinitions.kubeannex.io');
    if (status !== 200) return skipped(CHECK, `the cluster responded with status ${status}`);
    const refused = objectsOf(body['items']).flatMap((definition) => {
      const found = conditionsOf(definition).find(({ type, status: is }) => type === 'Registered' && is === 'False');
      return found === undefined
        ? []
        : [`${nameOf(definition)}: ${textOf(found['reason'])}: ${textOf(found['message'])}`];
    });
    if (refused.length === 0) return ok(CHECK, '');
    return failed(CHECK, refused.join('; '), 'delete the other APIService or definition, or choose another group');
  } catch (error) {
    return failed(CHECK, error, 'let the cluster reach Annex: see the checks of the APIServices');
  }
}
