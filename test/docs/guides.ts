import { type ChildProcess, spawn, spawnSync, type StdioOptions } from 'node:child_process';
import { chmodSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { freePorts } from '../convert/control-plane.js';
import { eventually, MAIN, ROOT } from '../integration/server.js';

/** The kind of a block, from its fence: `sh` is run, `sh server` keeps running, `sh pods` needs Annex in a cluster, `sh mongodb` MongoDB's tools, `sh two` MongoDB. */
type Kind = 'sh' | 'sh server' | 'sh pods' | 'sh mongodb' | 'sh two' | 'sh two server';

interface Block {
  readonly kind: Kind;
  readonly text: string;
}

/** Returns the shell blocks of a guide, in order. */
export function shellBlocks(page: string): Block[] {
  const text = readFileSync(join(ROOT, 'docs', page), 'utf8');
  return [...text.matchAll(/^```(sh(?: server| pods| mongodb| two server| two)?)\n([^]*?)^```$/gm)].map(
    ([, kind, block]) => ({
      kind: kind as Kind,
      text: block ?? '',
    }),
  );
}

const LIMIT_MILLIS = 240_000;

/** Go's caches are in the home folder, and guides run with a home folder of their own. */
const goFolders = (): NodeJS.ProcessEnv => {
  const { status, stdout } = spawnSync('go', ['env', '-json', 'GOCACHE', 'GOMODCACHE'], { encoding: 'utf8' });
  return status === 0 ? (JSON.parse(stdout) as NodeJS.ProcessEnv) : {};
};

/** Runs blocks as readers would: in bash, in the clone, with the programs on the PATH and the files that the guide names in `$NAMES`. */
export class Guide {
  private readonly servers: ChildProcess[] = [];
  private readonly env: NodeJS.ProcessEnv;
  private log = '';

  constructor(
    private readonly folder: string,
    programs: Readonly<Record<string, string>>,
    names: Readonly<Record<string, string>>,
  ) {
    const bin = join(folder, 'bin');
    mkdirSync(bin, { recursive: true });
    const all = { annex: `"${process.execPath}" "${MAIN}"`, ...programs };
    for (const [name, command] of Object.entries(all)) {
      writeFileSync(join(bin, name), `#!/bin/sh\nexec ${command} "$@"\n`);
      chmodSync(join(bin, name), 0o755);
    }
    this.env = {
      ...process.env,
      PATH: `${bin}${delimiter}${process.env['PATH'] ?? ''}`,
      HOME: folder,
      ...goFolders(),
      ...names,
    };
  }

  /** Runs a script that must succeed. Returns its output. Variables that it exports are kept for later blocks. */
  async run(text: string): Promise<string> {
    const state = join(this.folder, 'exported');
    const script = `[ ! -e ${state} ] || . ${state}\n${text}\nexport -p | grep -E ' (KUBECONFIG)=' > ${state} || true\n`;
    const child = this.spawn(script, LIMIT_MILLIS);
    const out: string[] = [];
    const err: string[] = [];
    child.stdout?.setEncoding('utf8').on('data', (chunk: string) => out.push(chunk));
    child.stderr?.setEncoding('utf8').on('data', (chunk: string) => err.push(chunk));
    const status = await new Promise((resolve) => child.once('close', resolve));
    if (status === 0) return out.join('');
    throw new Error([`exit ${String(status)}:`, text, ...out, ...err, this.log].join('\n'));
  }

  /** Starts the server that the block describes, and waits until it serves. */
  async serve(text: string): Promise<void> {
    const child = this.spawn(`exec ${text.trim()}`);
    let out = '';
    child.stdout?.setEncoding('utf8').on('data', (chunk: string) => (out += chunk));
    child.stderr?.setEncoding('utf8').on('data', (chunk: string) => (this.log += chunk));
    this.servers.push(child);
    await eventually('the server serves', () => {
      if (child.exitCode !== null) throw new Error(`the server ended: ${this.log}`);
      return Promise.resolve(out.includes('Annex serves') || undefined);
    });
  }

  private spawn(script: string, timeout?: number): ChildProcess {
    const stdio: StdioOptions = ['ignore', 'pipe', 'pipe'];
    return spawn('bash', ['-euo', 'pipefail', '-c', script], { cwd: ROOT, env: this.env, stdio, timeout });
  }

  /** Stops the servers. */
  async stop(): Promise<void> {
    for (const child of this.servers.splice(0)) {
      if (child.exitCode !== null) continue;
      const ended = new Promise((resolve) => child.once('exit', resolve));
      child.kill('SIGTERM');
      await ended;
    }
  }
}

export async function freePort(): Promise<string> {
  const [port = 0] = await freePorts(1);
  return String(port);
}
