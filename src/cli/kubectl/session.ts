import { createInterface } from 'node:readline/promises';
import { Command } from 'commander';
import { ClusterClient, type ClusterRequest, type WholeAnswer } from '../../client/cluster-client.js';
import { parseGoDuration } from '../../go/duration.js';
import type { Clock } from '../../util/clock.js';
import { collect } from '../collect.js';
import { Progress } from '../progress.js';
import { type ConfigFlags, targetOf } from './config.js';
import { Discovery } from './discovery.js';
import { describe, Failure, Refusal, UsageError } from './failure.js';

/** The flags of every command that calls a server. */
export interface SessionFlags extends ConfigFlags {
  readonly requestTimeout?: string;
}

/** Where a command writes, and asks. */
interface Terminal {
  out(text: string): void;
  error(line: string): void;
  /** Asks for a line; undefined if nobody can answer. */
  readonly ask: ((question: string) => Promise<string>) | undefined;
}

/** The terminal of the process. */
export const processTerminal = (): Terminal => ({
  out: (text) => void process.stdout.write(text),
  error: (line) => void process.stderr.write(`${line}\n`),
  ask: process.stdin.isTTY ? askOnTerminal : undefined,
});

/** Returns the line that is typed; '' if the input ends before. */
async function askOnTerminal(question: string): Promise<string> {
  const reader = createInterface({ input: process.stdin, output: process.stderr });
  try {
    const ended = new Promise<string>((resolve) => reader.once('close', () => resolve('')));
    return await Promise.race([reader.question(question), ended]);
  } finally {
    reader.close();
  }
}

/** What a command works with: the server, what it serves, and the terminal. */
export class Session {
  private loaded: Promise<Discovery> | undefined;
  private readonly warned = new Set<string>();

  constructor(
    readonly client: Pick<ClusterClient, 'exchange' | 'stream'>,
    readonly namespace: string,
    readonly clock: Clock,
    readonly terminal: Terminal,
    /** How long one request may take; 0 means without limit. */
    private readonly timeoutMillis = 0,
  ) {}

  discovery(): Promise<Discovery> {
    return (this.loaded ??= Discovery.load(this.client));
  }

  /** Returns an answer whose status is below 300, and shows its warnings. Throws Refusal or ClusterError. */
  async request(request: ClusterRequest): Promise<WholeAnswer> {
    const answer = await this.client.exchange({ timeoutMillis: this.timeoutMillis, ...request });
    this.showWarnings(answer.headers['warning']);
    if (answer.status >= 300) throw Refusal.of(answer.status, answer.body);
    return answer;
  }

  /** Shows each warning of a response once. */
  showWarnings(header: string | readonly string[] | undefined): void {
    if (header === undefined) return;
    for (const [, quoted = ''] of [header]
      .flat()
      .join(', ')
      .matchAll(/299 \S+ "((?:[^"\\]|\\.)*)"/g)) {
      const text = quoted.replaceAll(/\\(.)/g, '$1');
      if (!this.warned.has(text)) this.terminal.error(`Warning: ${text}`);
      this.warned.add(text);
    }
  }

  /** Shows progress on standard error once the work takes long. */
  progress(): Progress {
    return new Progress(this.clock, process.stderr);
  }

  /**
   * Returns when the user agrees. Throws a Failure otherwise: without a terminal somebody has to have said `--yes` before.
   */
  async confirm(question: string, yes: boolean): Promise<void> {
    if (yes) return;
    const { ask } = this.terminal;
    if (ask === undefined)
      throw new Failure('nothing was done: there is no terminal to ask on; --yes agrees in advance');
    const answer = (await ask(`${question} [y/N] `)).trim().toLowerCase();
    if (answer !== 'y' && answer !== 'yes') throw new Failure('nothing was done');
  }
}

/** A command that calls a server as kubectl does: its flags for configuration, its exit codes, its way of telling errors. */
export function serverCommand(name: string, description: string): Command {
  return new Command(name)
    .description(description)
    .helpOption('-h, --help', 'Shows this help.')
    .option('-n, --namespace <name>', 'Namespace. Defaults to that of the context.')
    .option('--kubeconfig <file>', "Kubeconfig. Defaults to kubectl's: those of KUBECONFIG, or ~/.kube/config.")
    .option('--context <name>', 'Context of the kubeconfig.')
    .option('--cluster <name>', 'Cluster of the kubeconfig.')
    .option('--user <name>', 'User of the kubeconfig.')
    .option('-s, --server <url>', 'URL of the server.')
    .option('--token <token>', 'Bearer token.')
    .option('--username <name>', 'Name for basic authentication.')
    .option('--password <password>', 'Password for basic authentication.')
    .option('--as <user>', 'User to impersonate.')
    .option('--as-group <group>', 'Group to impersonate. May be given several times.', collect)
    .option('--as-uid <uid>', 'UID to impersonate.')
    .option(
      '--as-user-extra <key=value>',
      'Extra value of the user to impersonate. May be given several times.',
      collect,
    )
    .option('--certificate-authority <file>', 'PEM file of the CA of the server.')
    .option('--client-certificate <file>', 'PEM file of the certificate of the client.')
    .option('--client-key <file>', 'PEM file of its key.')
    .option('--insecure-skip-tls-verify', 'Does not verify the certificate of the server.')
    .option('--tls-server-name <name>', 'Name that the certificate of the server has to be for.')
    .option('--request-timeout <duration>', 'How long one request may take, such as 30s; 0 means without limit.');
}

/** Runs the work of a command with a session; tells an error and sets the exit code instead of throwing. */
export async function run(flags: SessionFlags, clock: Clock, work: (session: Session) => Promise<void>): Promise<void> {
  let client: ClusterClient | undefined;
  // The reader of the output, such as head, may leave early.
  process.stdout.on('error', () => process.exit(0));
  try {
    const { remote, namespace } = targetOf(flags);
    client = ClusterClient.of(remote, clock);
    await work(new Session(client, namespace, clock, processTerminal(), timeoutOf(flags.requestTimeout)));
  } catch (error) {
    const { text, code } = describe(error);
    if (text !== '') process.stderr.write(`${text}\n`);
    process.exitCode = code;
  } finally {
    client?.close();
  }
}

function timeoutOf(text: string | undefined): number {
  if (text === undefined) return 0;
  try {
    const millis = /^\d+$/.test(text) ? Number(text) * 1000 : parseGoDuration(text);
    if (millis >= 0) return millis;
  } catch {
    // Told below.
  }
  throw new UsageError(`--request-timeout: ${text} is not a duration such as 30s`);
}
