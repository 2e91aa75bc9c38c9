import { Command } from 'commander';
import { objectAt, objectsOf, stringAt } from '../../apimachinery/json/json.js';
import { ADOPTION_STAGE } from '../../adoption/protocol/names.js';
import type { ClusterClient } from '../../client/cluster-client.js';
import type { Clock } from '../../util/clock.js';
import { MOVING } from '../../adoption/protocol/states.js';
import { ADOPTIONS, withCluster } from './command.js';
import { nameOf, groupOf } from '../../apimachinery/meta/meta.js';

type Cluster = Pick<ClusterClient, 'call'>;

const RESOURCE_DEFINITIONS = '/apis/kubeannex.io/v1/resourcedefinitions';

/** `annex uninstall-check`: the chart runs it before it is uninstalled. */
export function uninstallCheckCommand(clock: Clock): Command {
  return new Command('uninstall-check')
    .description(
      'Exits with 1 and lists the groups that Adoptions have moved to Annex, which would have no server without it.',
    )
    .option('--kubeconfig <file>', 'Kubeconfig of the cluster. Defaults to the credentials of the pod.', '')
    .helpOption('-h, --help', 'Shows this help.')
    .action(async ({ kubeconfig }: { readonly kubeconfig: string }) => {
      const groups = await withCluster(kubeconfig, clock, adoptedGroups);
      if (groups.length === 0) return;
      const back = groups.map((group) => `annex release ${group}`).join(', ');
      throw new Error(
        `Annex serves ${groups.join(', ')}, moved here from the cluster, and without Annex no server would. Move it back first: ${back}. To uninstall anyway: first helm upgrade with adoption.leaveOnUninstall=true, or helm uninstall --no-hooks. To keep the release: helm rollback, with the newest revision of helm history`,
      );
    });
}

/** Returns the groups that Adoptions have moved to Annex, or are moving. Throws if Annex does not report them. */
export async function adoptedGroups(cluster: Cluster): Promise<readonly string[]> {
  const groups = new Set<string>();
  for (const definition of await items(cluster, RESOURCE_DEFINITIONS)) {
    const annotations = objectAt(objectAt(definition, 'metadata'), 'annotations');
    if (annotations?.[ADOPTION_STAGE] !== undefined) groups.add(groupOf(definition));
  }
  for (const adoption of await items(cluster, ADOPTIONS)) {
    const phase = stringAt(objectAt(adoption, 'status'), 'phase') ?? '';
    if (MOVING.has(phase)) groups.add(nameOf(adoption));
  }
  return [...groups].sort();
}

async function items(cluster: Cluster, path: string): Promise<ReturnType<typeof objectsOf>> {
  const { status, body } = await cluster.call('GET', path);
  if (status === 200) return objectsOf(body['items']);
  // Never registered, or no longer registered.
  if (status === 404) return [];
  throw new Error(
    `GET ${path}: ${stringAt(body, 'message') ?? `status ${status}`}: cannot determine which groups Annex serves`,
  );
}
