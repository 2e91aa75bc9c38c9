#!/usr/bin/env node
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { setFlagsFromString } from 'node:v8';
import { Command } from 'commander';
import { backupCommand, restoreCommand } from './backup/command.js';
import { Progress } from './cli/progress.js';
import { kubectlCommands } from './cli/kubectl/commands.js';
import type { Versions } from './cli/version.js';
import { otherCommands } from './cli/commands.js';
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
import { jsonLine } from './util/text/log-format.js';
import { boundYoungGeneration } from './util/young-generation.js';
import { annexVersion, KUBERNETES_VERSION, platform } from './server/http/documents/version.js';

// Keys of JSON objects are arbitrary data. Without this accessor `__proto__` is an ordinary key.
Reflect.deleteProperty(Object.prototype, '__proto__');

// Commands import their code when they are called, because loading the server takes time.
const root = join(dirname(fileURLToPath(import.meta.url)), '..');

/** A running server, and the lines to print once it runs. */
interface Started {
  readonly server: { stop(): Promise<void> };
  readonly lines: readonly string[];
}

async function standalone(options: Options): Promise<Started> {
  const { startStandalone } = await import('./server/compose/standalone.js');
  const server = await startStandalone(options, root);
  const lines = [
    `Annex serves the Kubernetes API (${KUBERNETES_VERSION}) on ${server.url}.`,
    'Next, run in another terminal:',
    `  export KUBECONFIG=${server.kubeconfig}`,
    '  kubectl api-resources',
    'Press Ctrl-C to stop.',
  ];
  return { server, lines };
}

async function aggregated(options: Options): Promise<Started> {
  const { startAggregated } = await import('./server/compose/aggregated.js');
  const server = await startAggregated(options, root);
  const lines = [
    `Annex extends the cluster's API, on port ${String(server.port)}.`,
    'Next, run with the kubeconfig of the cluster:',
    '  kubectl get apiservices',
    'Press Ctrl-C to stop.',
  ];
  return { server, lines };
}

function say(...lines: string[]): void {
  process.stdout.write(`${lines.join('\n')}\n`);
}

/** True if the server was told to write JSON: then each line of both outputs is an object. */
let onlyJson = false;

const logLine = (level: string, message: string): string => jsonLine({ level, message, fields: {}, at: Date.now() });

/** The first line says what runs; the others are for a person at a terminal. */
function announce([first = '', ...more]: readonly string[]): void {
  if (onlyJson) say(logLine('info', first));
  else say(first, ...more);
}

/** Node prints its own warnings as text. */
function warnAsJson(): void {
  process.removeAllListeners('warning');
  process.on('warning', ({ name, message }) => {
    process.stderr.write(`${logLine('warn', `${name}: ${message}`)}\n`);
  });
}

async function serve(options: Options): Promise<void> {
  boundYoungGeneration();
  onlyJson = options.loggingFormat === 'json';
  if (onlyJson) warnAsJson();
  // V8 lets a heap of this size more than double between collections. With 60 percent the server uses 262 MB with
  // 10,000 objects of 2 KiB instead of 313 MB, and 329 MB instead of 380 MB at the peak. With less, it collects so
  // often that long responses cost three times as much.
  setFlagsFromString('--heap-growing-percent=60');
  // Objects that a request allocates die with it. V8 concludes otherwise from some collections in the middle of
  // requests, then allocates such objects in the old generation, and collects the whole heap more often: a get cost 15
  // percent more.
  setFlagsFromString('--no-allocation-site-pretenuring');
  // A server that is waiting for its store has nothing to finish. As the first process of a container it needs a handler to exit at all.
  const leave = (): void => process.exit(0);
  process.on('SIGTERM', leave);
  process.on('SIGINT', leave);
  const { server, lines } = isAggregated(options) ? await aggregated(options) : await standalone(options);
  let stopping = false;
  const stop = (): void => {
    // A second signal exits at once.
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
  // Print this last: a reader of these lines may stop the server at once, and then expects a graceful shutdown.
  announce(lines);
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
  // The reader of the output, such as head, may exit early.
  process.stdout.on('error', fail);
  const results: CheckResult[] = [];
  const tell = (finding: Finding): void => {
    if (output === 'text') say(lineOf(finding));
    results.push(resultOf(finding));
  };
  for await (const finding of findings) tell(finding);
  if (verifyStore === true) {
    const progress = new Progress(systemClock, process.stderr);
    const step = (revision: number, newest: number): void => progress.step(revision, newest, 'revisions read');
    const records = await checkRecords(options, systemClock, step);
    progress.clear();
    tell(records);
  }
  if (output === 'json') say(JSON.stringify(results, null, 2));
  if (results.some(({ status }) => status === 'failed')) process.exitCode = 1;
}

async function doctorArguments(given: readonly string[]): Promise<readonly string[]> {
  const { withFlagsBeside } = await import('./doctor/beside.js');
  const whole = withFlagsBeside(given);
  if (whole !== given)
    process.stderr.write('annex doctor: with the flags of the server that runs beside it (process 1)\n');
  return ['doctor', ...whole];
}

const versions = (): Versions => ({
  version: annexVersion(root),
  kubernetesVersion: KUBERNETES_VERSION,
  nodeVersion: process.version,
  platform: platform(),
});

function fail(error: unknown): never {
  const { message, code } = describeFailure(error);
  const text = `annex: ${message.replace(/^error: /, '')}`;
  if (message !== '') process.stderr.write(`${onlyJson ? logLine('error', text) : text}\n`);
  process.exit(code);
}

const ofKubectl = kubectlCommands(foregroundClock);
const others = otherCommands(() => program, versions);
const OWN_OPTIONS: ReadonlySet<string | undefined> = new Set(
  [...others, ...ofKubectl].map((command) => command.name()),
);

const program: Command = new Command('annex')
  .description('An API server that speaks the Kubernetes API.')
  .version(annexVersion(root), '--version', 'Shows the version.')
  .helpOption('-h, --help', 'Shows this help.')
  .addCommand(serveCommand(serve))
  .addCommand(doctorCommand(doctor))
  .addCommand(backupCommand(systemClock))
  .addCommand(restoreCommand(systemClock));

for (const command of others) program.addCommand(command);

for (const command of [program, ...program.commands]) {
  command.exitOverride().configureOutput({ outputError: () => undefined });
}

for (const command of ofKubectl) program.addCommand(command);

try {
  const args = process.argv.slice(2);
  if (args[0] === '__complete') {
    const { completeCommand } = await import('./cli/kubectl/complete.js');
    await completeCommand(program.commands, args.slice(1), foregroundClock);
    process.exit();
  }
  // Option values of the other commands may look like flags of the server.
  const whole = args[0] === 'doctor' ? await doctorArguments(args.slice(1)) : args;
  await program.parseAsync(OWN_OPTIONS.has(args[0]) ? whole : normalizeArguments(whole), { from: 'user' });
} catch (error) {
  fail(error);
}
