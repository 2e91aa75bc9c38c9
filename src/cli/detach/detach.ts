import { Command } from 'commander';
import { DETACHED } from '../../client/detached.js';
import { type JsonObject, objectAt, stringAt } from '../../apimachinery/json/json.js';
import { ADOPTION_PREFIX } from '../../adoption/protocol/names.js';
import { formatTime, nameOf } from '../../apimachinery/meta/meta.js';
import { type Cluster, listAll } from '../../client/lists.js';
import { type Clock, sleep } from '../../util/clock.js';
import { withTimeout } from '../../util/with-timeout.js';
import { withCluster } from '../adopt/command.js';
import { adoptedGroups } from '../adopt/uninstall-check.js';
import { printLine } from '../adopt/wait.js';
import { API_SERVICES, configMapPath, configMapText, ownApiServices, type ServiceName } from './record.js';

/** Replicas that run see the ConfigMap within a second; one that does not know of it would register everything again. */
const WATCH_MILLIS = 5_000;
const LOOK_MILLIS = 500;
/** A hung Annex would be waited for. */
const ASK_MILLIS = 3_000;
const POLICIES = '/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies';

export interface DetachOptions extends ServiceName {
  readonly kubeconfig?: string;
  readonly acceptOldState: boolean;
  readonly dryRun: boolean;
}

/** The flags of both commands that name the installation. */
export const withServiceFlags = (command: Command): Command =>
  command
    .option('--kubeconfig <file>', 'Kubeconfig of the cluster. Defaults to that of kubectl.')
    .option('-n, --namespace <namespace>', 'Namespace that Annex runs in.', 'annex-system')
    .option('--service <name>', 'Name of the Service of Annex.', 'annex')
    .option('--dry-run', 'Only shows what would be done.', false)
    .helpOption('-h, --help', 'Shows this help.');

/** `annex detach`: takes the APIServices of an Annex that is away out of the cluster, so that nothing else waits for it. */
export function detachCommand(clock: Clock): Command {
  return withServiceFlags(
    new Command('detach').description(
      'Takes the APIServices of Annex out of the cluster while Annex is away, so that namespaces can be deleted and discovery is complete. Needs no running Annex and deletes no object; annex attach reverses it.',
    ),
  )
    .option(
      '--accept-old-state',
      'Detach even if Annex serves groups that Adoptions moved: the cluster shows its old copy of them, or nothing.',
      false,
    )
    .action(async (options: DetachOptions) => {
      await withCluster(options.kubeconfig, clock, (cluster) => detach(cluster, clock, options));
    });
}

/** Prints what it does. Throws if something forbids it. */
export async function detach(cluster: Cluster, clock: Clock, options: DetachOptions): Promise<void> {
  const { namespace } = options;
  const path = configMapPath(namespace);
  const already = await cluster.must('GET', `${path}/${DETACHED}`);
  const services = ownApiServices(await listAll(cluster, API_SERVICES), options);
  if (already === undefined && services.length === 0)
    throw new Error(`no APIService of Annex names the Service ${namespace}/${options.service}: nothing to detach`);
  const adopted = await knownAdoptions(cluster, clock);
  if (adopted.length > 0 && !options.acceptOldState)
    throw new Error(
      `Annex serves ${adopted.join(', ')}, moved here from the cluster: without Annex, the cluster shows its copy as of the switch, or nothing. To detach nevertheless, add --accept-old-state`,
    );
  for (const line of meaning(services.map(nameOf), adopted)) printLine(line);
  if (options.dryRun) return;
  // A second run goes on with what the first one has recorded.
  if (already === undefined) {
    const data = configMapText(services, adopted, formatTime(clock.now()));
    await cluster.must('POST', path, {
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { name: DETACHED, namespace, labels: { 'app.kubernetes.io/managed-by': 'annex' } },
      data,
    });
  }
  await removeAll(cluster, clock, options);
  printLine(
    `Detached. What was taken away is in the ConfigMap ${namespace}/${DETACHED}; annex attach -n ${namespace} puts it back.`,
  );
}

/** Deletes the APIServices until no replica creates them again. */
async function removeAll(cluster: Cluster, clock: Clock, options: DetachOptions): Promise<void> {
  const began = clock.monotonic();
  let left = ownApiServices(await listAll(cluster, API_SERVICES), options);
  for (;;) {
    for (const service of left) {
      // Not if somebody else has created another one of this name in the meantime.
      const { uid, resourceVersion } = objectAt(service, 'metadata') ?? {};
      const preconditions = { uid, resourceVersion } as JsonObject;
      const body = { apiVersion: 'v1', kind: 'DeleteOptions', preconditions };
      const { status, body: answer } = await cluster.call('DELETE', `${API_SERVICES}/${nameOf(service)}`, body);
      if (status >= 300 && status !== 404 && status !== 409)
        throw new Error(`cannot delete the APIService ${nameOf(service)}: ${stringAt(answer, 'message') ?? status}`);
    }
    if (left.length === 0 && clock.monotonic() - began >= WATCH_MILLIS) return;
    if (clock.monotonic() - began >= 4 * WATCH_MILLIS)
      throw new Error(
        `${left.map(nameOf).join(', ')}: a replica of Annex registers them again, although it should not while the ConfigMap ${DETACHED} exists: kubectl -n ${options.namespace} scale deployment/annex --replicas=0, then run this again`,
      );
    await sleep(clock, LOOK_MILLIS);
    left = ownApiServices(await listAll(cluster, API_SERVICES), options);
  }
}

/** Returns the groups that Annex serves for the cluster, as far as the cluster itself or an Annex that answers tells. */
async function knownAdoptions(cluster: Cluster, clock: Clock): Promise<readonly string[]> {
  const policies = (await listAll(cluster, POLICIES)).map(nameOf);
  const fenced = policies
    .filter((name) => name.startsWith(ADOPTION_PREFIX))
    .map((name) => name.slice(ADOPTION_PREFIX.length));
  // Annex is usually away: then the fences are all that is known.
  const told = await withTimeout(clock, ASK_MILLIS, adoptedGroups(cluster)).catch(() => []);
  return [...new Set([...fenced, ...told])].sort();
}

function meaning(services: readonly string[], adopted: readonly string[]): string[] {
  const lines = [
    services.length === 0
      ? 'All APIServices of Annex are taken away already.'
      : `Takes away ${services.length} APIServices: ${services.join(', ')}.`,
    'Until annex attach: requests for their types get 404, and clients with informers for them log errors. Definitions and objects stay in the store. Namespaces can be deleted; what Annex has in them stays in the store, too, and annex doctor lists it later.',
  ];
  if (adopted.length > 0)
    lines.push(`The cluster shows its old copy of ${adopted.join(', ')}, or nothing; it takes no writes to them.`);
  return lines;
}
