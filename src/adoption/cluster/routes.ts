import { RELIST_ELSEWHERE_MESSAGE } from '../../registry/generic/handover.js';
import { objectAt, stringAt, textOf } from '../../apimachinery/json/json.js';
import type { KubeObject } from '../../apimachinery/meta/meta.js';
import { ClusterError } from '../../client/cluster-error.js';
import { servedVersions } from '../../registry/builtin/kubeannex/resource-definitions.js';
import type { Revision } from '../../storage/interfaces.js';
import type { Stages } from '../replica-stages.js';
import { isBackDoor } from './cluster-definitions.js';
import type { KubeApiserver } from './kube-apiservers.js';

const PROBE = 'watch=true&timeoutSeconds=1&resourceVersion=1&fieldSelector=metadata.name%3Dannex-none';

/** Reports whether a kube-apiserver routes all lists to Annex, whose revisions begin at `first`; those of the cluster must stay lower. */
export async function routedToAnnex(
  server: KubeApiserver,
  definitions: readonly KubeObject[],
  first: Revision,
): Promise<boolean> {
  for (const list of requestsFor(definitions, 'limit=1')) {
    const { status, body } = await server.call('GET', list);
    if (status !== 200) throw new ClusterError(status, stringAt(body, 'message') ?? `GET ${list}: ${status}`);
    if (Number(stringAt(objectAt(body, 'metadata'), 'resourceVersion')) < first) return false;
  }
  return true;
}

/**
 * Reports whether a kube-apiserver itself serves all served versions of the definitions, while Annex gives the group back: both sides refuse a
 * watch from a compacted revision, with different messages. Revisions do not tell: the cluster's have been raised above those of Annex.
 */
export async function servedByCluster(server: KubeApiserver, definitions: readonly KubeObject[]): Promise<boolean> {
  const answers = await Promise.all(requestsFor(definitions, PROBE).map((probe) => server.plain('GET', probe)));
  return answers.every(
    ({ status, text }) => (status === 200 || status === 410) && !text.includes(RELIST_ELSEWHERE_MESSAGE),
  );
}

/** Reports whether a replica no longer routes any of the types to Annex: until then it makes an APIService anew that another one has deleted. */
export function haveAllLeft(definitions: readonly KubeObject[]): (stages: Stages) => boolean {
  const names = definitions.map(({ metadata: { name = '' } }) => name);
  return (stages) => names.every((name) => stages[name] === 'Left');
}

/** Returns one request with a query for each served version of the definitions, without the back door. */
function requestsFor(definitions: readonly KubeObject[], query: string): string[] {
  return definitions.flatMap((definition) => {
    const spec = objectAt(definition, 'spec');
    const [group, plural] = [textOf(spec?.['group']), textOf(objectAt(spec, 'names')?.['plural'])];
    const versions = servedVersions(definition).filter((name) => !isBackDoor({ name }));
    return versions.map((version) => `/apis/${group}/${version}/${plural}?${query}`);
  });
}
