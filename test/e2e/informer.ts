import { type ChildProcess, spawn } from 'node:child_process';
import type { JsonObject } from '../../src/apimachinery/json/json.js';
import { digList, treeOf } from '../integration/client.js';
import { eventually } from '../integration/server.js';
import { GROUP } from './widgets.js';

/** The path of a program that `make e2e` builds if Go is installed. */
const PROGRAM = process.env['E2E_INFORMER'] ?? '';

export const informerMissing = PROGRAM === '';

/** Runs a client-go informer in its own process. It follows the widgets of a namespace. */
export class Informer {
  readonly lines: JsonObject[] = [];
  private rest = '';
  private stderr = '';
  private readonly child: ChildProcess;
  private readonly closed: Promise<void>;

  /** `streaming`: whether the informer uses streaming lists. */
  constructor(kubeconfig: string, namespace: string, streaming: boolean, group = GROUP) {
    const env = { ...process.env, KUBE_FEATURE_WatchListClient: String(streaming) };
    const child = spawn(PROGRAM, [kubeconfig, group, 'v1', 'widgets', namespace], { env, stdio: 'pipe' });
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      const lines = (this.rest + text).split('\n');
      this.rest = lines.pop() ?? '';
      for (const line of lines) this.lines.push(treeOf({ text: line }));
    });
    child.stderr.setEncoding('utf8').on('data', (text: string) => (this.stderr += text));
    this.child = child;
    this.closed = new Promise((resolve) => {
      child.once('close', () => {
        resolve();
      });
    });
  }

  /** Waits for an event of an object, or of the informer itself. */
  sees(event: string, name?: string): Promise<JsonObject> {
    const wanted = (line: JsonObject): boolean =>
      line['event'] === event && (name === undefined || line['name'] === name);
    return eventually(`the informer tells ${event} ${name ?? ''}: ${this.stderr}`, () =>
      Promise.resolve(this.lines.find(wanted)),
    );
  }

  count(event: string, name: string): number {
    return this.lines.filter((line) => line['event'] === event && line['name'] === name).length;
  }

  /** Ends the informer and returns its final keys and the number of requests it made. */
  async end(): Promise<{ keys: string[]; lists: number; watches: number; streamed: number }> {
    this.child.stdin?.end();
    await this.closed;
    const last = this.lines.at(-1) ?? {};
    const number = (key: string): number => Number(last[key] ?? 0);
    const keys = digList(last, 'keys').map(String);
    return { keys, lists: number('lists'), watches: number('watches'), streamed: number('streamed') };
  }
}
