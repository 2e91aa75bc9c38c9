#!/usr/bin/env node
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { setFlagsFromString } from 'node:v8';
import { Command } from 'commander';
import { adoptCommand } from './cli/adopt/command.js';
import { releaseCommand } from './cli/adopt/release.js';
import { uninstallCheckCommand } from './cli/adopt/uninstall-check.js';
import { completionCommand } from './cli/completion.js';
import { convertCommand } from './cli/convert/command.js';
import { kubeconfigCommand } from './cli/kubeconfig.js';
import { Progress } from './cli/progress.js';
import { tokenCommand } from './cli/token.js';
import { versionCommand, type Versions } from './cli/version.js';
import { isAggregated } from './server/options/aggregation-options.js';
import {
  describeFailure,
  doctorCommand,
  type DoctorFlags,
  normalizeArguments,
  serveCommand,
} from './server/options/command-line.js';
import type { Options } from './server/options/options.js';
import type { CheckResult, Finding } from './doctor/finding.js';
import { foregroundClock, systemClock } from './util/clock.js';
import { annexVersion, KUBERNETES_VERSION, platform } from './server/http/documents/version.js';

// Keys of JSON objects are data: without this accessor `__proto__` is one like any other.
Reflect.deleteProperty(Object.prototype, '__proto__');

// What a command does is loaded when it is called: the server's parts take their time.
const root = join(dirname(fileURLToPath(import.meta.url)), '..');

/** A server that runs, and what its user reads then. */
interface Started {
  readonly server: { stop(): Promise<void> };
  readonly lines: readonly string[];
}

async function standalone(options: Options): Promise<Started> {
  const { startStandalone } = await import('./server/compose/standalone.js');
  const server = await startStandalone(options, root);
  const lines = [
    `Annex serves the Kubernetes API (${KUBERNETES_VERSION}) on ${server.url}.`,
    'Type next, in another terminal:',
    `  export KUBECONFIG=${server.kubeconfig}`,
    '  kubectl api-resources',
    'Ctrl-C stops it.',
  ];
  return { server, lines };
}

async function aggregated(options: Options): Promise<Started> {
  const { startAggregated } = await import('./server/compose/aggregated.js');
  const server = await startAggregated(options, root);
  const lines = [
    `Annex extends the cluster's API, on port ${String(server.port)}.`,
    'Type next, with the kubeconfig of the cluster:',
    '  kubectl get apiservices',
    'Ctrl-C stops it.',
  ];
  return { server, lines };
}

function say(...lines: string[]): void {
  process.stdout.write(`${lines.join('\n')}\n`);
}

async function serve(options: Options): Promise<void> {
  // V8 lets a heap like this one more than double before it collects. With 60 percent the server takes 262 MB with 10,000 objects of 2 KiB
  // instead of 313, and 329 instead of 380 at the peak; with less than that it collects so often that long answers cost three times as much.
  setFlagsFromString('--heap-growing-percent=60');
  // What a request makes dies with it. V8 concludes otherwise from some collections in the middle of requests, puts such objects among the old
  // ones from then on, and collects all of the heap the more often: a get cost 15 percent more.
  setFlagsFromString('--no-allocation-site-pretenuring');
  // A server that waits for its store has nothing to finish; as the first process of a container it needs a handler to end at all.
  const leave = (): void => process.exit(0);
  process.on('SIGTERM', leave);
  process.on('SIGINT', leave);
  const { server, lines } = isAggregated(options) ? await aggregated(options) : await standalone(options);
  let stopping = false;
  const stop = (): void => {
    // The second signal does not wait.
    if (stopping) process.exit(1);
    stopping = true;
    server.stop().then(
      () => {
        process.exit(0);
      },
      (error: unknown) => {
        fail(error);
      },
    );
  };
  process.off('SIGTERM', leave).on('SIGTERM', stop);
  process.off('SIGINT', leave).on('SIGINT', stop);
  // Only now: who reads that it serves may stop it at once, and is to see it stop as it should.
  say(...lines);
}

async function doctor(options: Options, { output, serverKubeconfig, verifyStore }: DoctorFlags): Promise<void> {
  const [{ examine }, { examineStandalone }, { checkRecords }, { lineOf, resultOf }] = await Promise.all([
    import('./doctor/doctor.js'),
    import('./doctor/standalone.js'),
    import('./doctor/records.js'),
    import('./doctor/finding.js'),
  ]);
  const findings = isAggregated(options)
    ? examine(options, systemClock)
    : examineStandalone(options, serverKubeconfig, systemClock);
  // A reader that has seen enough, such as head.
  process.stdout.on('error', fail);
  const results: CheckResult[] = [];
  const tell = (finding: Finding): void => {
    if (output === 'text') say(lineOf(finding));
    results.push(resultOf(finding));
  };
  for await (const finding of findings) tell(finding);
  if (verifyStore === true) {
    const progress = new Progress(systemClock, process.stderr);
    const step = (revision: number, newest: number): void => {
      progress.step(revision, newest, 'revisions read');
    };
    const records = await checkRecords(options, systemClock, step);
    progress.clear();
    tell(records);
  }
  if (output === 'json') say(JSON.stringify(results, null, 2));
  if (results.some(({ status }) => status === 'failed')) process.exitCode = 1;
}

const versions = (): Versions => ({
  version: annexVersion(root),
  kubernetesVersion: KUBERNETES_VERSION,
  nodeVersion: process.version,
  platform: platform(),
});

function fail(error: unknown): never {
  const { message, code } = describeFailure(error);
  if (message !== '') process.stderr.write(`annex: ${message.replace(/^error: /, '')}\n`);
  process.exit(code);
}

const OWN_OPTIONS: ReadonlySet<string | undefined> = new Set([
  'convert',
  'token',
  'kubeconfig',
  'version',
  'completion',
  'adopt',
  'release',
  'uninstall-check',
]);

const program: Command = new Command('annex')
  .description('An API server that speaks the Kubernetes API.')
  .version(annexVersion(root), '--version', 'Shows the version.')
  .helpOption('-h, --help', 'Shows this help.')
  .addCommand(serveCommand(serve))
  .addCommand(doctorCommand(doctor))
  .addCommand(convertCommand(systemClock))
  .addCommand(tokenCommand())
  .addCommand(kubeconfigCommand())
  .addCommand(adoptCommand(foregroundClock))
  .addCommand(releaseCommand(foregroundClock))
  .addCommand(uninstallCheckCommand(foregroundClock))
  .addCommand(versionCommand(versions))
  .addCommand(completionCommand(() => program));

for (const command of [program, ...program.commands]) {
  command.exitOverride().configureOutput({ outputError: () => undefined });
}

try {
  const args = process.argv.slice(2);
  // Values of the other commands' options may look like flags of the server.
  await program.parseAsync(OWN_OPTIONS.has(args[0]) ? args : normalizeArguments(args), { from: 'user' });
} catch (error) {
  fail(error);
}
