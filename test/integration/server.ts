import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { keepLog, plant } from '../secrecy/leaks.js';

export const ROOT = join(__dirname, '../..');
/** ANNEX_MAIN selects another build. */
export const MAIN = process.env['ANNEX_MAIN'] ?? join(ROOT, 'dist/main.js');

/** Tokens that every test server accepts. */
export const ADMIN = plant('admin-token-81c5e07d2f');
/** A user with no permissions beyond those of every user. */
export const NOBODY = plant('nobody-token-4be90d63a1');
const TOKENS = `${ADMIN},admin,admin,system:masters\n${NOBODY},jane,jane-uid,"readers,writers"\n`;

export const START_MILLIS = 180_000;
/** How long a busy machine may take for what is instant on an idle one. */
export const PATIENCE_MILLIS = 120_000;

export interface Exit {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** Creates a folder that is removed at the end of the test file, after `before` has ended the processes that write to it. */
export function scratchFolder(before?: () => Promise<unknown>): string {
  const path = mkdtempSync(join(tmpdir(), 'annex-test-'));
  afterAll(async () => {
    await before?.();
    rmSync(path, { recursive: true, force: true });
  });
  return path;
}

const commands = new Set<Command>();

/** A process left running by a failed test would keep jest from exiting. */
afterAll(async () => {
  for (const { child } of commands) child.kill('SIGKILL');
  await Promise.all([...commands].map(({ exit }) => exit));
});

/** The command as users run it. Its output is collected. */
export class Command {
  stdout = '';
  stderr = '';
  readonly child: ChildProcess;
  /** Settles when the process has exited. */
  readonly exit: Promise<Exit>;

  constructor(args: readonly string[], cwd: string = ROOT, env: NodeJS.ProcessEnv = {}) {
    if (!existsSync(MAIN)) throw new Error('dist/main.js is not there: run `make build` first');
    this.child = spawn(process.execPath, [MAIN, ...args], {
      cwd,
      env: { ...process.env, ...env },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    this.child.stdout?.setEncoding('utf8').on('data', (text: string) => (this.stdout += text));
    this.child.stderr?.setEncoding('utf8').on('data', (text: string) => (this.stderr += text));
    this.exit = new Promise((resolve) => {
      this.child.on('close', (code, signal) => {
        commands.delete(this);
        keepLog(args[0] ?? 'annex', this.stderr);
        if (args[0] === 'serve') keepLog('serve', this.stdout);
        resolve({ code, signal, stdout: this.stdout, stderr: this.stderr });
      });
    });
    commands.add(this);
  }
}

/** Runs the command until it exits. */
export function run(args: readonly string[], cwd?: string): Promise<Exit> {
  return new Command(args, cwd).exit;
}

/** A server on its own port. */
export class TestServer {
  private constructor(
    private readonly command: Command,
    readonly dataDir: string,
    readonly port: number,
  ) {}

  /** Resolves when the server is ready. Without `--data-dir` among the flags, the server gets a folder of its own. */
  static async start(folder: string, flags: readonly string[] = [], env: NodeJS.ProcessEnv = {}): Promise<TestServer> {
    const tokens = join(folder, 'tokens.csv');
    writeFileSync(tokens, TOKENS);
    const dataDir = join(folder, 'data');
    const given = ['--data-dir', dataDir, '--secure-port', '0', '--bind-address', '127.0.0.1'];
    const command = new Command(['serve', ...given, '--token-auth-file', tokens, ...flags], ROOT, env);
    const started = new Promise<number>((resolve, reject) => {
      const timer = setTimeout(() => {
        reject(new Error(`the server does not start:\n${command.stdout}${command.stderr}`));
      }, START_MILLIS);
      command.child.stdout?.on('data', () => {
        const port = /on https:\/\/127\.0\.0\.1:(\d+)\./.exec(command.stdout)?.[1];
        if (port === undefined) return;
        clearTimeout(timer);
        resolve(Number(port));
      });
      void command.exit.then(({ code, stderr }) => {
        clearTimeout(timer);
        reject(new Error(`the server ended with ${String(code)}:\n${stderr}`));
      });
    });
    const port = await started;
    return new TestServer(command, dataDir, port);
  }

  get url(): string {
    return `https://127.0.0.1:${this.port}`;
  }

  get ca(): string {
    return readFileSync(join(this.dataDir, 'ca.crt'), 'utf8');
  }

  get kubeconfig(): string {
    return join(this.dataDir, 'admin.kubeconfig');
  }

  get log(): string {
    return this.command.stderr;
  }

  get pid(): number | undefined {
    return this.command.child.pid;
  }

  get exited(): Promise<Exit> {
    return this.command.exit;
  }

  signal(name: NodeJS.Signals): void {
    this.command.child.kill(name);
  }

  /** Sends the signal once and waits for the exit. */
  stop(name: NodeJS.Signals = 'SIGTERM'): Promise<Exit> {
    if (this.command.child.exitCode === null) this.signal(name);
    return this.command.exit;
  }
}

/** Runs one server for the whole test file. */
export function serverForFile(flags: readonly string[] = []): { readonly current: TestServer } {
  let server: TestServer | undefined;
  const folder = scratchFolder(async () => server?.stop('SIGKILL'));
  beforeAll(async () => {
    server = await TestServer.start(folder, flags);
  }, START_MILLIS + 5_000);
  return {
    get current() {
      if (server === undefined) throw new Error('the server has not started');
      return server;
    },
  };
}

/** Waits until `probe` returns a value other than undefined. Fails after a time that suffices even on a busy machine. */
export async function eventually<T>(what: string, probe: () => Promise<T | undefined>): Promise<T> {
  const end = performance.now() + PATIENCE_MILLIS;
  for (;;) {
    const found = await probe();
    if (found !== undefined) return found;
    if (performance.now() > end) throw new Error(`not within ${PATIENCE_MILLIS} ms: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}
