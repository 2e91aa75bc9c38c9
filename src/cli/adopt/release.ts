import { Command, Option } from 'commander';
import { type JsonObject, objectAt, objectsOf, stringAt, textOf } from '../../apimachinery/json/json.js';
import { conditionsOf } from '../../apimachinery/meta/conditions.js';
import type { KubeObject } from '../../apimachinery/meta/meta.js';
import { type Cluster, eachMetadata } from '../../client/lists.js';
import { type Dependents, dependentsOf, nameOfCollection, nameOfDependent } from '../../client/dependents.js';
import type { Clock } from '../../util/clock.js';
import { ADOPTIONS, seconds, withCluster } from './command.js';
import { printLine, waitFor } from './wait.js';
import { may, serviceAccount } from '../../adoption/preflight/rights.js';

const MERGE = 'application/merge-patch+json';
/** Small writes per second that raise the cluster's revision: about what a small control plane can take. */
const RAISED_A_SECOND = 600;
/** The maximum number of dependents to print. */
const EXAMPLES = 20;

export interface ReleaseOptions {
  readonly dryRun: boolean;
  readonly dependents: Policy;
  readonly skipRaise: boolean;
  readonly serviceAccount: string;
  readonly timeout: number;
  readonly kubeconfig?: string;
}

/** How to treat objects outside the group that are owned by objects created in Annex. */
type Policy = 'Refuse' | 'Repoint' | 'Abandon';

/** `annex release`: ends what `annex adopt` began, whichever side serves the group. */
export function releaseCommand(clock: Clock): Command {
  return new Command('release')
    .description(
      'Returns a group to the cluster, with everything written in Annex, and ends its adoption; if the group was only rehearsed, deletes the copy.',
    )
    .argument('<group>', 'The API group.')
    .option('--dry-run', 'Only shows what would be done. The exit code is 1 if something blocks the release.', false)
    .addOption(
      new Option(
        '--dependents <policy>',
        'What to do with objects outside the group whose owners were created in Annex and get a new uid: Refuse does not return the group while any exist, Repoint updates their ownerReferences, Abandon lets the garbage collector delete them.',
      )
        .choices(['Refuse', 'Repoint', 'Abandon'])
        .default('Refuse'),
    )
    .option(
      '--skip-raise',
      "Does not raise the cluster's revision above that of Annex: every client that watches the group has to be restarted.",
      false,
    )
    .option('--service-account <namespace/name>', 'Service account of Annex.', 'annex-system/annex')
    .option('--kubeconfig <file>', 'Kubeconfig of the cluster. Defaults to that of kubectl.')
    .option('--timeout <seconds>', 'How long to wait for each step.', seconds, 600)
    .helpOption('-h, --help', 'Shows this help.')
    .action(async (group: string, options: ReleaseOptions) => {
      await withCluster(options.kubeconfig, clock, (cluster) => release(cluster, clock, group, options));
    });
}

/** Prints what it does; sets exit code 1 if something blocks it. */
export async function release(cluster: Cluster, clock: Clock, group: string, options: ReleaseOptions): Promise<void> {
  const path = `${ADOPTIONS}/${group}`;
  const adoption = await cluster.must('GET', path);
  if (adoption === undefined) throw new Error(`Adoption ${group} not found`);
  const status = objectAt(adoption, 'status');
  const isServed = ['Served', 'Returning'].includes(textOf(status?.['phase']));
  if (isServed) {
    if (!(await showPlan(cluster, group, adoption, options))) {
      process.exitCode = 1;
      return;
    }
  } else {
    const copied = stringAt(status, 'copied') ?? 'nothing';
    printLine(
      `The copy (${copied}) is deleted with the Adoption ${group}; the cluster keeps its objects and continues to serve them.`,
    );
  }
  if (options.dryRun) return;
  if (isServed) {
    // This command has searched for dependents with the rights of its user, so Annex does not have to be allowed to list everything. If it is, it
    // searches again until writes end.
    const isLast = options.dependents === 'Refuse' && !(await mayListAll(cluster, options.serviceAccount));
    const spec = {
      servedBy: 'Cluster',
      dependents: isLast ? 'Abandon' : options.dependents,
      skipRaise: options.skipRaise,
    };
    await cluster.must('PATCH', path, { spec }, MERGE);
    printLine(await waitUntilReturned(cluster, clock, path, options.timeout));
  }
  await cluster.must('DELETE', path);
  const late = `the Adoption still exists after ${options.timeout} s`;
  await waitFor({ clock, millis: options.timeout * 1000, late }, async () =>
    (await cluster.must('GET', path)) === undefined ? true : undefined,
  );
  printLine('Done.');
}

/** Prints what the return involves; returns false if something blocks it. */
async function showPlan(
  cluster: Cluster,
  group: string,
  adoption: KubeObject,
  { dependents, skipRaise, serviceAccount }: ReleaseOptions,
): Promise<boolean> {
  const switched = conditionsOf(adoption).find(({ type }) => type === 'Switched')?.['lastTransitionTime'];
  const { objects, born, revision } = await objectsOfGroup(cluster, group, textOf(switched));
  printLine(
    `Annex has ${objects} objects of ${group}; ${born.size} were created there and get a new uid and creationTimestamp. The generation of objects that were changed there may decrease.`,
  );
  printLine(raiseText(revision - (await clusterRevision(cluster)), skipRaise));
  printLine(
    'Annex accepts writes until the cluster has everything; then writes are refused for a few seconds, while reads continue. Until then, only Annex can change the APIServices of the group.',
  );
  if (born.size === 0) return true;
  const found = await dependentsOf(cluster, group, born);
  const { objects: owned, unread } = found;
  if (unread.length > 0)
    printLine(`You may not list ${unread.map(nameOfCollection).join(', ')}: dependents there are unknown.`);
  if (owned.length === 0 && unread.length === 0) {
    printLine('The objects created in Annex own no objects outside the group.');
    if (dependents === 'Abandon' || (dependents === 'Refuse' && !(await mayListAll(cluster, serviceAccount))))
      printLine('Dependents that they get before the cluster serves the group would be deleted.');
    return dependents !== 'Repoint' || (await mayRepoint(cluster, group, found, serviceAccount));
  }
  if (owned.length > 0) {
    const what = dependents === 'Repoint' ? 'whose ownerReferences are updated' : 'which would be deleted';
    printLine(`The objects created in Annex own ${owned.length} objects outside the group, ${what}:`);
    for (const one of owned.slice(0, EXAMPLES)) printLine(`  - ${nameOfDependent(one)}`);
  }
  if (dependents === 'Abandon') return true;
  if (dependents === 'Repoint') return mayRepoint(cluster, group, found, serviceAccount);
  printLine('Blocked: set --dependents to Repoint or Abandon, or remove their ownerReferences.');
  return false;
}

function raiseText(behind: number, skips: boolean): string {
  if (skips)
    return "The cluster's revision is not raised: resourceVersions decrease, and every client that watches the group (its controllers, and operators with informers for it) has to be restarted afterwards.";
  if (behind <= 0) return "The cluster's revision is already above that of Annex.";
  const minutes = Math.ceil(behind / RAISED_A_SECOND / 60);
  return `First, small writes raise the cluster's revision by ${behind}, which takes about ${minutes} min, so that no resourceVersion decreases; --skip-raise skips this.`;
}

/** Reports whether Annex can search for dependents itself. `account` is its service account, `<namespace>/<name>`. */
const mayListAll = (cluster: Cluster, account: string): Promise<boolean> =>
  may(cluster, 'list', '*', '*', serviceAccount(account));

/** Reports whether Annex has the rights to repoint dependents; prints those that it lacks. */
async function mayRepoint(cluster: Cluster, group: string, found: Dependents, account: string): Promise<boolean> {
  const { namespace, name } = serviceAccount(account);
  const rules: JsonObject[] = [];
  if (!(await mayListAll(cluster, account))) rules.push({ apiGroups: ['*'], resources: ['*'], verbs: ['list'] });
  for (const { group: of, plural } of found.collections.keys()) {
    const verbs: string[] = [];
    for (const verb of ['get', 'patch'])
      if (!(await may(cluster, verb, of, plural, { namespace, name }))) verbs.push(verb);
    if (verbs.length > 0) rules.push({ apiGroups: [of], resources: [plural], verbs });
  }
  if (rules.length === 0) return true;
  // Needed if the admission plugin OwnerReferencesPermissionEnforcement is enabled.
  rules.push({ apiGroups: [group], resources: ['*/finalizers'], verbs: ['update'] });
  printLine(
    'Blocked: Annex searches for dependents and updates their ownerReferences. It lacks the permissions of this ClusterRole:',
  );
  const role = `annex-repoint-${group}`;
  const metadata = { name: role };
  printLine(
    JSON.stringify({ apiVersion: 'rbac.authorization.k8s.io/v1', kind: 'ClusterRole', metadata, rules }, null, 2),
  );
  printLine(
    `Create and bind it: kubectl create clusterrolebinding ${role} --clusterrole=${role} --serviceaccount=${namespace}:${name}`,
  );
  return false;
}

interface GroupObjects {
  readonly objects: number;
  /** UIDs of the objects created since Annex began to serve the group. */
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
    const listed = await eachMetadata(cluster, path, (metadata) => {
      objects++;
      if (textOf(metadata['creationTimestamp']) >= since) born.add(textOf(metadata['uid']));
    });
    revision = Math.max(revision, listed);
  }
  return { objects, born, revision };
}

async function clusterRevision(cluster: Cluster): Promise<number> {
  const page = await cluster.metadata('/api/v1/namespaces?limit=1');
  return Number(objectAt(page, 'metadata')?.['resourceVersion'] ?? 0);
}

/** Waits until the cluster serves the group, and returns the message of the Adoption. */
function waitUntilReturned(cluster: Cluster, clock: Clock, path: string, timeout: number): Promise<string> {
  const late = `the cluster did not serve the group within ${timeout} s`;
  let wasMoving = false;
  return waitFor({ clock, millis: timeout * 1000, late }, async (sayChange) => {
    const adoption = await cluster.must('GET', path);
    const phase = textOf(objectAt(adoption, 'status')?.['phase']);
    const [ready, returned] = ['Ready', 'Returned'].map((name) =>
      conditionsOf(adoption).find(({ type }) => type === name),
    );
    if (returned?.['status'] === 'True' && phase !== 'Served' && phase !== 'Returning')
      return textOf(returned['message']);
    if (wasMoving && phase === 'Served') throw new Error(textOf(ready?.['message']));
    wasMoving ||= phase === 'Returning';
    sayChange(`${phase}: ${textOf(ready?.['message'])}`);
    return undefined;
  });
}
