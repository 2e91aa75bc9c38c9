import { spawn } from 'node:child_process';
import { chmodSync, mkdirSync, writeFileSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { MAIN, ROOT } from '../server.js';

const TOOLS = process.env['ANNEX_TOOLS_DIR'] ?? join(ROOT, '.cache/tools');

export interface Ended {
  readonly code: number | null;
  readonly out: string;
  readonly err: string;
}

/** kubectl with Annex' plugin and its completion on PATH. */
export class Kubectl {
  private readonly env: NodeJS.ProcessEnv;

  constructor(folder: string, kubeconfig: string) {
    const bin = join(folder, 'bin');
    mkdirSync(bin, { recursive: true });
    for (const [name, words] of Object.entries({ 'kubectl-annex': '', 'kubectl_complete-annex': '__complete ' })) {
      writeFileSync(join(bin, name), `#!/bin/sh\nexec "${process.execPath}" "${MAIN}" ${words}"$@"\n`);
      chmodSync(join(bin, name), 0o755);
    }
    this.env = {
      ...process.env,
      KUBECONFIG: kubeconfig,
      HOME: folder,
      PATH: `${bin}${delimiter}${process.env['PATH'] ?? ''}`,
    };
  }

  /** Runs kubectl to its end. Without `input` there is no terminal and nothing to read. */
  run(args: readonly string[], until?: (out: string) => boolean): Promise<Ended> {
    return new Promise((resolve, reject) => {
      const child = spawn(join(TOOLS, 'kubectl'), args, { env: this.env, stdio: ['ignore', 'pipe', 'pipe'] });
      let [out, err] = ['', ''];
      child.stdout.on('data', (data: Buffer) => {
        out += data.toString();
        if (until?.(out) === true) child.kill();
      });
      child.stderr.on('data', (data: Buffer) => (err += data.toString()));
      child.on('error', reject);
      child.on('close', (code) => {
        resolve({ code, out, err });
      });
    });
  }

  annex(...args: readonly string[]): Promise<Ended> {
    return this.run(['annex', ...args]);
  }
}
