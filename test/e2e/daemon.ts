import { type ChildProcess, spawn } from 'node:child_process';
import { closeSync, openSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

const running = new Set<ChildProcess>();
process.once('exit', () => {
  for (const child of running) child.kill('SIGKILL');
});

export interface Program {
  readonly name: string;
  readonly path: string;
  readonly args: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
}

/** A server process that can be stopped and restarted. Its output goes to a file in its folder. */
export class Daemon {
  private child: ChildProcess | undefined;
  private ended: Promise<void> = Promise.resolve();
  readonly logFile: string;

  constructor(
    private readonly program: Program,
    private readonly folder: string,
  ) {
    this.logFile = join(folder, `${program.name}.log`);
  }

  get name(): string {
    return this.program.name;
  }

  get args(): readonly string[] {
    return this.program.args;
  }

  get log(): string {
    return readFileSync(this.logFile, 'utf8');
  }

  get alive(): boolean {
    const { child } = this;
    return child !== undefined && child.exitCode === null && child.signalCode === null;
  }

  get exitCode(): number | null {
    return this.child?.exitCode ?? null;
  }

  /** The process ID, or 0 if the process does not run. */
  get pid(): number {
    return this.alive ? (this.child?.pid ?? 0) : 0;
  }

  /** The resident memory, in KiB. */
  get memory(): number {
    const status = readFileSync(`/proc/${this.child?.pid ?? 0}/status`, 'utf8');
    return Number(/^VmRSS:\s+(\d+)/m.exec(status)?.[1] ?? 0);
  }

  start(): void {
    if (this.alive) return;
    const log = openSync(this.logFile, 'a');
    const env = { ...process.env, ...this.program.env };
    const child = spawn(this.program.path, this.program.args, { cwd: this.folder, env, stdio: ['ignore', log, log] });
    closeSync(log);
    running.add(child);
    this.child = child;
    this.ended = new Promise((resolve, reject) => {
      child.once('error', reject);
      child.once('exit', () => {
        running.delete(child);
        resolve();
      });
    });
    this.ended.catch(() => undefined);
  }

  /** For signals that the process survives: SIGSTOP and SIGCONT. */
  signal(name: NodeJS.Signals): void {
    this.child?.kill(name);
  }

  /** Sends the signal and waits for the exit. Returns the milliseconds that took. */
  async stop(signal: NodeJS.Signals = 'SIGTERM'): Promise<number> {
    const begun = performance.now();
    if (this.alive) this.child?.kill(signal);
    await this.ended;
    return performance.now() - begun;
  }
}
