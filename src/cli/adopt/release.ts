import { Command } from 'commander';
import { objectAt, stringAt } from '../../apimachinery/json/json.js';
import { objectsOf, textOf } from '../../apimachinery/json/values.js';
import { conditionsOf } from '../../apimachinery/meta/conditions.js';
import type { KubeObject } from '../../apimachinery/meta/meta.js';
import type { ClusterClient } from '../../client/cluster-client.js';
import { dependentsOf } from '../../client/dependents.js';
import { type Clock, sleep } from '../../util/clock.js';
import { ADOPTIONS, say, seconds, withCluster } from './command.js';

const POLL_MILLIS = 1_000;
const PAGE = 500;
const MERGE = 'application/merge-patch+json';
/** Small writes to the cluster that raise its revision, in a second: about what a small control plane takes. */
const RAISED_A_SECOND = 600;
/** Of dependents, for people. */
const EXAMPLES = 20;

interface ReleaseOptions {
  readonly dryRun: boolean;
  readonly abandonDependents: boolean;
  readonly timeout: number;
  readonly kubeconfig?: string;
}

type Cluster = Pick<ClusterClient, 'call' | 'must' | 'metadata'>;

/** `annex release`: ends what `annex adopt` began, on whichever side the group is. */
export function releaseCommand(clock: Clock): Command {
  return new Command('release')
    .description(
      'Gives a group back to the cluster, with all that was written in Annex, and ends its adoption; where the group was only rehearsed, the copy goes.',
    )
    .argument('<group>', 'The API group.')
    .option('--dry-run', 'Only shows what would be done. The exit code is 1 when something blocks it.', false)
    .option(
      '--abandon-dependents',
      'Lets the garbage collector delete what objects that were created in Annex own outside of the group.',
      false,
    )
    .option('--kubeconfig <file>', 'Kubeconfig of the cluster; that of kubectl without it.')
    .option('--timeout <seconds>', 'How long to wait for each step.', seconds, 600)
    .helpOption('-h, --help', 'Shows this help.')
    .action(async (group: string, options: ReleaseOptions) => {
      await withCluster(options.kubeconfig, clock, (cluster) => release(cluster, clock, group, options));
    });
}

async function release(cluster: Cluster, clock: Clock, group: string, options: ReleaseOptions): Promise<void> {
  const path = `${ADOPTIONS}/${group}`;
  const adoption = await cluster.must('GET', path);
  if (adoption === undefined) throw new Error(`Adoption ${group} not found`);
  const status = objectAt(adoption, 'status');
  const isServed = ['Served', 'Returning'].includes(textOf(status?.['phase']));
  if (isServed) {
    if (!(await showPlan(cluster, group, adoption, options.abandonDependents))) {
      process.exitCode = 1;
      return;
    }
  } else {
    const copied = stringAt(status, 'copied') ?? 'nothing';
    say(
      `The copy (${copied}) goes with the Adoption ${group}; the cluster keeps its objects and goes on serving them.`,
    );
  }
  if (options.dryRun) return;
  if (isServed) {
    // It was looked for dependents with the rights of whoever typed this.
    await cluster.must('PATCH', path, { spec: { servedBy: 'Cluster', dependents: 'Abandon' } }, MERGE);
    say(await waitUntilReturned(cluster, clock, path, options.timeout));
  }
  await cluster.must('DELETE', path);
  const end = clock.monotonic() + options.timeout * 1000;
  while ((await cluster.must('GET', path)) !== undefined) {
    if (clock.monotonic() >= end) throw new Error(`the Adoption is still there after ${options.timeout} s`);
    await sleep(clock, POLL_MILLIS);
  }
  say('Done.');
}

/** Says what going back comes to; false where something blocks it. */
async function showPlan(cluster: Cluster, group: string, adoption: KubeObject, abandons: boolean): Promise<boolean> {
  const switched = conditionsOf(adoption).find(({ type }) => type === 'Switched')?.['lastTransitionTime'];
  const { objects, born, revision } = await objectsOfGroup(cluster, group, textOf(switched));
  say(
    `Annex has ${objects} objects of ${group}; ${born.size} were created there, and get another uid and creationTimestamp.`,
  );
  const behind = revision - (await clusterRevision(cluster));
  if (behind > 0) {
    const minutes = Math.ceil(behind / RAISED_A_SECOND / 60);
    say(
      `The cluster's revision is raised by ${behind} with small writes first, about ${minutes} min, so that no resourceVersion goes back; spec.skipRaise of the Adoption goes without.`,
    );
  }
  say('Annex takes writes until the cluster has everything; then they are refused for some seconds, and reads go on.');
  if (born.size === 0) return true;
  const found = await dependentsOf(cluster, group, born);
  if (found.unread.length > 0) say(`You may not list ${found.unread.join(', ')}: what is owned there is not known.`);
  if (found.objects.length === 0 && found.unread.length === 0) {
    say('Nothing outside of the group is owned by them.');
    return true;
  }
  if (found.objects.length > 0) {
    say(`${found.objects.length} objects outside of the group are owned by them, and would be deleted:`);
    for (const one of found.objects.slice(0, EXAMPLES)) say(`  - ${one}`);
  }
  if (abandons) return true;
  say('Blocked: take their ownerReferences away, or give --abandon-dependents.');
  return false;
}

interface GroupObjects {
  readonly objects: number;
  /** Uids of those that were created since Annex serves the group. */
  readonly born: ReadonlySet<string>;
  readonly revision: number;
}

async function objectsOfGroup(cluster: Cluster, group: string, since: string): Promise<GroupObjects> {
  const definitions = objectsOf((await cluster.must('GET', '/apis/kubeannex.io/v1/resourcedefinitions'))?.['items']);
  const born = new Set<string>();
  let [objects, revision] = [0, 0];
  for (const definition of definitions) {
    const spec = objectAt(definition, 'spec');
    if (spec?.['group'] !== group) continue;
    const version = objectsOf(spec['versions']).find(({ served }) => served === true);
    const path = `/apis/${group}/${textOf(version?.['name'])}/${textOf(objectAt(spec, 'names')?.['plural'])}`;
    for (let token = ''; ;) {
      const more = token === '' ? '' : `&continue=${encodeURIComponent(token)}`;
      const page = await cluster.metadata(`${path}?limit=${PAGE}${more}`);
      for (const item of objectsOf(page['items'])) {
        objects++;
        const metadata = objectAt(item, 'metadata');
        if (textOf(metadata?.['creationTimestamp']) >= since) born.add(textOf(metadata?.['uid']));
      }
      const metadata = objectAt(page, 'metadata');
      revision = Math.max(revision, Number(metadata?.['resourceVersion'] ?? 0));
      token = textOf(metadata?.['continue']);
      if (token === '') break;
    }
  }
  return { objects, born, revision };
}

async function clusterRevision(cluster: Cluster): Promise<number> {
  const page = await cluster.metadata('/api/v1/namespaces?limit=1');
  return Number(objectAt(page, 'metadata')?.['resourceVersion'] ?? 0);
}

/** What the Adoption says when the cluster serves the group. */
async function waitUntilReturned(cluster: Cluster, clock: Clock, path: string, timeout: number): Promise<string> {
  const end = clock.monotonic() + timeout * 1000;
  let shown = '';
  let wasMoving = false;
  for (;;) {
    const adoption = await cluster.must('GET', path);
    const phase = textOf(objectAt(adoption, 'status')?.['phase']);
    const [ready, returned] = ['Ready', 'Returned'].map((name) =>
      conditionsOf(adoption).find(({ type }) => type === name),
    );
    if (returned?.['status'] === 'True' && phase !== 'Served' && phase !== 'Returning')
      return textOf(returned['message']);
    const line = `${phase}: ${textOf(ready?.['message'])}`;
    if (wasMoving && phase === 'Served') throw new Error(textOf(ready?.['message']));
    wasMoving ||= phase === 'Returning';
    if (line !== shown) say(line);
    shown = line;
    if (clock.monotonic() >= end) throw new Error(`the cluster does not serve the group within ${timeout} s: ${line}`);
    await sleep(clock, POLL_MILLIS);
  }
}
