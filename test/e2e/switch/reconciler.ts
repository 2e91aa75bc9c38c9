import { type ChildProcess, spawn } from 'node:child_process';
import type { JsonObject } from '../../../src/apimachinery/json/json.js';
import { treeOf } from '../../integration/client.js';

/** The path of a program that `make e2e-switch` builds if Go is installed. */
const PROGRAM = process.env['E2E_RECONCILER'] ?? '';

export const reconcilerMissing = PROGRAM === '';

/** Runs a controller-runtime controller in its own process. It keeps a ConfigMap for each object of a kind. */
export class Reconciler {
  log = '';
  private out = '';
  private readonly child: ChildProcess;
  private readonly closed: Promise<number | null>;

  constructor(kubeconfig: string, group: string, kind: string, namespace: string) {
    const child = spawn(PROGRAM, [kubeconfig, group, 'v1', kind, namespace], { stdio: 'pipe' });
    child.stdout.setEncoding('utf8').on('data', (text: string) => (this.out += text));
    child.stderr.setEncoding('utf8').on('data', (text: string) => (this.log += text));
    this.child = child;
    this.closed = new Promise((resolve) => {
      child.once('close', resolve);
    });
  }

  /** Ends the controller and returns how many ConfigMaps it created, updated, and failed to write. */
  async end(): Promise<JsonObject> {
    this.child.stdin?.end();
    const code = await this.closed;
    if (code !== 0) throw new Error(`the reconciler ends with ${String(code)}: ${this.log.slice(-2000)}`);
    return treeOf({ text: this.out });
  }

  /** For tests that fail before the end. */
  stop(): void {
    this.child.kill('SIGKILL');
  }
}
