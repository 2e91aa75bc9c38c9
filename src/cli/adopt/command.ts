import { conditionsOf } from '../../apimachinery/meta/conditions.js';
import { existsSync } from 'node:fs';
import { homedir } from 'node:os';
import { delimiter, join } from 'node:path';
import { Command, InvalidArgumentError, Option } from 'commander';
import { type JsonObject, objectAt, objectsOf, textOf } from '../../apimachinery/json/json.js';
import type { Cluster } from '../../client/lists.js';
import { ClusterClient } from '../../client/cluster-client.js';
import type { Clock } from '../../util/clock.js';
import { Progress } from '../progress.js';
import { makePlan } from './plan.js';
import { planText } from './report.js';
import { printLine, waitFor } from './wait.js';

export const ADOPTIONS = '/apis/kubeannex.io/v1alpha1/adoptions';

interface AdoptOptions {
  readonly kubeconfig?: string;
  readonly serviceAccount: string;
  readonly dryRun: boolean;
  readonly switch: boolean;
  readonly output: 'text' | 'json';
  readonly timeout: number;
}

/** `annex adopt`: shows what adopting a group involves, and rehearses it. */
export function adoptCommand(clock: Clock): Command {
  return new Command('adopt')
    .description(
      'Shows what adopting an API group involves and rehearses it: copies its objects and follows their changes. With --switch, Annex then serves the group.',
    )
    .argument('<group>', 'API group of CustomResourceDefinitions, such as wgpolicyk8s.io.')
    .option('--dry-run', 'Only shows the plan. The exit code is 1 if something blocks the adoption.', false)
    .option(
      '--switch',
      'Switches the group to Annex once both sides are equal; writes are refused for a few seconds.',
      false,
    )
    .option('--kubeconfig <file>', 'Kubeconfig of the cluster. Defaults to that of kubectl.')
    .option('--service-account <namespace/name>', 'Service account of Annex.', 'annex-system/annex')
    .option(
      '--timeout <seconds>',
      'How long to wait for both sides to be equal, and for Annex to serve the group.',
      seconds,
      600,
    )
    .addOption(new Option('-o, --output <format>', 'Format of the plan.').choices(['text', 'json']).default('text'))
    .helpOption('-h, --help', 'Shows this help.')
    .action(async (group: string, options: AdoptOptions) => {
      await withCluster(options.kubeconfig, clock, (cluster) => adopt(cluster, clock, group, options));
    });
}

export function seconds(text: string): number {
  const value = Number(text);
  if (text.trim() === '' || !Number.isFinite(value) || value < 0)
    throw new InvalidArgumentError('It must be a number of seconds.');
  return value;
}

/** Works with a client for the cluster of a kubeconfig: kubectl's if it is undefined, the pod's credentials if it is ''. */
export async function withCluster<T>(
  kubeconfig: string | undefined,
  clock: Clock,
  work: (cluster: ClusterClient) => Promise<T>,
): Promise<T> {
  const client = ClusterClient.load(kubeconfig ?? defaultKubeconfig(), clock);
  try {
    return await work(client);
  } finally {
    client.close();
  }
}

/** Finds the kubeconfig like kubectl, but uses only one file. */
function defaultKubeconfig(): string {
  const named = (process.env['KUBECONFIG'] ?? '').split(delimiter).find((path) => path !== '');
  const path = named ?? join(homedir(), '.kube/config');
  if (!existsSync(path)) throw new Error(`${path} does not exist: specify the kubeconfig with --kubeconfig`);
  return path;
}

async function adopt(cluster: Cluster, clock: Clock, group: string, options: AdoptOptions): Promise<void> {
  const plan = await makePlan(cluster, { group, account: options.serviceAccount });
  printLine(options.output === 'json' ? JSON.stringify(plan, null, 2) : planText(plan, options.serviceAccount));
  const stopped = plan.blocks.length > 0 || plan.missingRights.length > 0;
  if (stopped) process.exitCode = 1;
  if (stopped || options.dryRun) return;
  const path = `${ADOPTIONS}/${group}`;
  if ((await cluster.must('GET', path)) === undefined) {
    const adoption = { apiVersion: 'kubeannex.io/v1alpha1', kind: 'Adoption', metadata: { name: group }, spec: {} };
    await cluster.must('POST', ADOPTIONS, adoption);
  }
  const status = await waitUntilInSync(cluster, clock, path, options.timeout * 1000);
  printLine('');
  for (const resource of objectsOf(status['resources'])) {
    const name = textOf(resource['resource']);
    const [copied, bytes] = [Number(resource['copied']), Number(resource['bytes'])];
    printLine(`${name}: ${copied} objects, ${bytes} bytes, equal on both sides (digest ${textOf(resource['digest'])})`);
  }
  if (options.switch) {
    await cluster.must('PATCH', path, { spec: { servedBy: 'Annex' } }, 'application/merge-patch+json');
    printLine(await waitUntilSwitched(cluster, clock, path, options.timeout * 1000));
    return;
  }
  printLine(
    `The copy now follows the cluster; kubectl get adoption ${group} shows its progress, annex release ${group} ends it.`,
  );
}

/** Waits until Annex serves the group, and returns the message of the Adoption. */
function waitUntilSwitched(cluster: Cluster, clock: Clock, path: string, millis: number): Promise<string> {
  const late = `Annex did not serve the group within ${millis / 1000} s`;
  return waitFor({ clock, millis, late }, async (sayChange) => {
    const adoption = await cluster.must('GET', path);
    const phase = textOf(objectAt(adoption, 'status')?.['phase']);
    const switched = conditionsOf(adoption).find(({ type }) => type === 'Switched');
    const barred = conditionsOf(adoption).find(({ type, status }) => type === 'Switchable' && status === 'False');
    const message = textOf(phase === 'InSync' && barred !== undefined ? barred['message'] : switched?.['message']);
    if (phase === 'Served') return message;
    if (switched?.['reason'] === 'Failed' && phase === 'Failed') throw new Error(message);
    sayChange(`${phase}: ${message}`);
    return undefined;
  });
}

function waitUntilInSync(cluster: Cluster, clock: Clock, path: string, millis: number): Promise<JsonObject> {
  const progress = new Progress(clock, process.stderr);
  const late = `the copy was not in sync within ${millis / 1000} s`;
  return waitFor({ clock, millis, late }, async (sayChange) => {
    const adoption = await cluster.must('GET', path);
    const status = objectAt(adoption, 'status') ?? {};
    const inSync = conditionsOf(adoption).find(({ type }) => type === 'InSync');
    progress.clear();
    if (inSync?.['status'] === 'True') return status;
    sayChange(`${textOf(status['phase'])}: ${textOf(inSync?.['message'])}`);
    const resources = objectsOf(status['resources']);
    progress.step(sumOf(resources, 'copied'), sumOf(resources, 'source'), 'objects copied');
    return undefined;
  });
}

const sumOf = (resources: readonly JsonObject[], key: string): number =>
  resources.reduce((sum, resource) => sum + Number(resource[key] ?? 0), 0);
