import { spawn, spawnSync } from 'node:child_process';
import { mkdirSync } from 'node:fs';
import { loadavg } from 'node:os';
import { join } from 'node:path';
import { ROOT } from '../../integration/server.js';

/** A result of the load program for one scenario. */
export interface Measured {
  readonly scenario: string;
  readonly metric: string;
  readonly value: number;
  readonly ops: number;
  readonly errors: number;
  readonly error?: string;
  readonly seconds: number;
  readonly p50_ms: number;
  readonly p99_ms: number;
  readonly server_cpu_ms_per_op: number;
  readonly server_cpu_s_by: Readonly<Record<string, number>>;
  readonly client_cpu_s: number;
  readonly other_cpu_s: number;
}

export type LoadFlags = Readonly<Record<string, string | number | boolean>>;

/** The load program that all measurements use. */
export class LoadProgram {
  private readonly path: string;

  constructor() {
    const folder = join(ROOT, '.cache/bench');
    mkdirSync(folder, { recursive: true });
    this.path = join(folder, 'annexbench');
    const source = join(ROOT, 'test/bench/annexbench');
    const { status, stderr } = spawnSync('go', ['build', '-o', this.path, '.'], { cwd: source, encoding: 'utf8' });
    if (status !== 0) throw new Error(`the load program cannot be built: ${stderr}`);
  }

  /** Runs the program once; its progress goes to standard error. */
  run(flags: LoadFlags): Promise<readonly Measured[]> {
    const args = ['run', ...Object.entries(flags).map(([name, value]) => `-${name}=${String(value)}`)];
    const child = spawn(this.path, args, { stdio: ['ignore', 'pipe', 'inherit'] });
    let out = '';
    child.stdout.setEncoding('utf8').on('data', (text: string) => (out += text));
    return new Promise((resolve, reject) => {
      child.once('error', reject);
      child.once('close', (code) => {
        if (code !== 0) reject(new Error(`annexbench: exit ${String(code)}`));
        else resolve((JSON.parse(out) as { readonly results: readonly Measured[] }).results);
      });
    });
  }
}

const HEAD =
  '| scenario | rate | p50 ms | p99 ms | CPU ms/op | of it replicas | mongods | control plane | CPU s of client / others | load | errors |\n' +
  '|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|';

/** Returns a Markdown table. `load` is the load average of the machine at the end of the run. */
export function table(results: readonly Measured[], load = loadavg()[0] ?? 0): string {
  const rows = results.map((result) => {
    const each = (prefix: string): string => {
      const parts = Object.entries(result.server_cpu_s_by).filter(([label]) => label.startsWith(prefix));
      const seconds = parts.reduce((sum, [, value]) => sum + value, 0);
      return parts.length === 0 ? '' : ((seconds * 1000) / Math.max(1, result.ops)).toFixed(3);
    };
    const cells = [
      result.scenario,
      `${result.value.toFixed(result.value < 100 ? 1 : 0)} ${result.metric}`,
      result.p50_ms.toFixed(2),
      result.p99_ms.toFixed(2),
      result.server_cpu_ms_per_op.toFixed(3),
      each('annex'),
      each('mongod'),
      each('cluster'),
      `${result.client_cpu_s.toFixed(1)} / ${result.other_cpu_s.toFixed(1)}`,
      load.toFixed(1),
      `${result.errors} ${result.error ?? ''}`.trim(),
    ];
    return `| ${cells.join(' | ')} |`;
  });
  return [HEAD, ...rows].join('\n');
}
