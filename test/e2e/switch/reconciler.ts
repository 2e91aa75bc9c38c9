import { type ChildProcess, spawn } from 'node:child_process';
import type { JsonObject } from '../../../src/apimachinery/json/json.js';
import { treeOf } from '../../integration/client.js';

/** Of a program that `make e2e-switch` builds where Go is there. */
const PROGRAM = process.env['E2E_RECONCILER'] ?? '';

export const reconcilerMissing = PROGRAM === '';

/** A controller of controller-runtime, in a process of its own, that keeps a ConfigMap for each object of a kind. */
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

  /** What it did, in numbers: created, updated, failed. */
  async end(): Promise<JsonObject> {
    this.child.stdin?.end();
    const code = await this.closed;
    if (code !== 0) throw new Error(`the reconciler ends with ${String(code)}: ${this.log.slice(-2000)}`);
    return treeOf({ text: this.out });
  }

  /** Where a test failed before the end. */
  stop(): void {
    this.child.kill('SIGKILL');
  }
}
