import { type JsonObject, objectAt } from '../../../src/apimachinery/json/json.js';
import { type Answer, digText, type Http1, treeOf } from '../../integration/client.js';
import { pause } from '../../storage/mongod.js';
import { widgetsPath, widgetText } from '../widgets.js';

/** The last acknowledged state of an object. */
export interface Truth {
  /** The value of spec.size, or undefined if the object was deleted. */
  readonly value: string | undefined;
  readonly status: number;
  readonly revision: number;
}

const MERGE = { 'content-type': 'application/merge-patch+json' };
const APPLY = { 'content-type': 'application/apply-patch+yaml' };
/** After this time, a write with an unknown outcome has either been made or never will be. */
const UNDER_WAY_MILLIS = 1_000;
/** Statuses of servers that refuse a write for now. */
const REFUSED: ReadonlySet<number> = new Set([403, 429]);

export interface WriterOptions {
  /**
   * Waits as long as the Retry-After of a 429 says, like client-go. Otherwise the writer retries at once, which finds more races and takes
   * more CPU.
   */
  readonly isPatient?: boolean;
}

/** Writes its own objects through the kube-apiservers in turn, and records the responses. No other client writes these objects. */
export class SwitchWriter {
  readonly truth = new Map<string, Truth>();
  readonly problems: string[] = [];
  acknowledged = 0;
  refused = 0;
  /** The number of failed reads before a write. SwitchReader counts failed reads as problems. */
  unread = 0;
  /** The number of writes with an unknown outcome. */
  unknown = 0;
  /** The longest time without an acknowledged write, in milliseconds. */
  longest = 0;
  private last = performance.now();
  private stopped = false;
  private n = 0;
  private readonly done: Promise<void>;

  constructor(
    private readonly servers: readonly Http1[],
    private readonly group: string,
    private readonly namespace: string,
    private readonly name: string,
    private readonly options: WriterOptions = {},
  ) {
    this.done = this.run();
  }

  async stop(): Promise<void> {
    this.stopped = true;
    await this.done;
  }

  private async run(): Promise<void> {
    for (; !this.stopped; this.n++) await this.step(`${this.name}-${this.n % 7}`);
  }

  private async step(name: string): Promise<void> {
    const known = this.truth.get(name);
    const value = 'abcdefgh'.slice(0, 1 + (this.n % 8));
    if (known?.value === undefined) {
      await this.write(name, value, 0, {
        method: 'POST',
        path: this.path(''),
        body: widgetText(name, { colour: 'red', size: value }, {}, this.group),
      });
      return;
    }
    switch (this.n % 6) {
      case 0: {
        const found = await this.send({ method: 'GET', path: this.path(name) });
        if (found.status >= 500) {
          this.unread++;
          return;
        }
        if (found.status !== 200) {
          this.problems.push(`GET ${name}: ${found.status} ${found.text.slice(0, 200)}`);
          return;
        }
        const object = treeOf(found);
        this.compare(name, known, object);
        await this.write(name, value, known.status, {
          method: 'PUT',
          path: this.path(name),
          body: JSON.stringify({ ...object, spec: { ...objectAt(object, 'spec'), size: value } }),
        });
        return;
      }
      case 1:
        await this.write(name, value, known.status, {
          method: 'PATCH',
          path: this.path(name),
          body: JSON.stringify({ spec: { size: value } }),
          headers: MERGE,
        });
        return;
      case 2:
        await this.write(name, value, known.status, {
          method: 'PATCH',
          path: `${this.path(name)}?fieldManager=applier&force=true`,
          body: widgetText(name, { colour: 'red', size: value }, {}, this.group),
          headers: APPLY,
        });
        return;
      case 3:
        await this.write(name, known.value, this.n, {
          method: 'PATCH',
          path: `${this.path(name)}/status`,
          body: JSON.stringify({ status: { replicas: this.n } }),
          headers: MERGE,
        });
        return;
      case 4:
        if (this.n % 5 !== 0) return;
        await this.write(name, undefined, 0, {
          method: 'DELETE',
          path: this.path(name),
          body: JSON.stringify({ preconditions: { resourceVersion: String(known.revision) } }),
        });
        return;
      default:
        await this.write(name, value, known.status, {
          method: 'PATCH',
          path: this.path(name),
          body: JSON.stringify({ spec: { size: value, replicas: this.n % 9 } }),
          headers: MERGE,
        });
    }
  }

  private async write(
    name: string,
    value: string | undefined,
    status: number,
    call: { method: string; path: string; body: string; headers?: Record<string, string> },
  ): Promise<void> {
    const answer = await this.send(call);
    if (answer.status >= 300) {
      if (REFUSED.has(answer.status)) {
        this.refused++;
        if (this.options.isPatient === true) await pause(Number(answer.headers['retry-after'] ?? 0) * 1000);
      } else if (answer.status >= 500) await this.findOut(name, { value, status, revision: 0 });
      // A conflict with a revision of the other side is not a loss. Everything else is a problem.
      else if (answer.status === 409 && call.method !== 'POST') await this.readAgain(name);
      else this.problems.push(`${call.method} ${name}: ${answer.status} ${answer.text.slice(0, 300)}`);
      return;
    }
    const now = performance.now();
    this.longest = Math.max(this.longest, now - this.last);
    this.last = now;
    this.acknowledged++;
    const before = this.truth.get(name);
    const known = before?.revision ?? 0;
    const revision = value === undefined ? known : Number(digText(treeOf(answer), 'metadata', 'resourceVersion'));
    // A write that changes nothing shows the revision that the object has, as a read does.
    const changesNothing = value === before?.value && status === before?.status;
    if (value !== undefined && revision < known)
      this.problems.push(
        changesNothing
          ? `${name} went back from ${known} to ${revision}`
          : `${call.method} ${name}: revision ${revision} after ${known}`,
      );
    this.truth.set(name, { value, status, revision });
  }

  /** Reads an object after a write with an unknown outcome. Both the old and the new state are right. */
  private async findOut(name: string, wanted: Truth): Promise<void> {
    this.unknown++;
    // A request that is still in flight gets time to finish.
    await pause(UNDER_WAY_MILLIS);
    let found = await this.send({ method: 'GET', path: this.path(name) });
    while (found.status >= 500 && !this.stopped) found = await this.send({ method: 'GET', path: this.path(name) });
    const object = found.status === 200 ? treeOf(found) : undefined;
    const shown: Truth = {
      value: object && digText(object, 'spec', 'size'),
      status: Number(objectAt(object, 'status')?.['replicas'] ?? 0),
      revision: Number(digText(object, 'metadata', 'resourceVersion')),
    };
    const known = this.truth.get(name);
    const isLike = (truth: Truth | undefined): boolean =>
      shown.value === truth?.value && (shown.value === undefined || shown.status === truth?.status);
    if (isLike(known) || isLike(wanted)) this.truth.set(name, shown);
    else this.problems.push(`${name} is ${String(shown.value)} ${shown.status} after an unknown outcome`);
  }

  /** After a conflict, checks that the object has the last acknowledged state, regardless of its revision. */
  private async readAgain(name: string): Promise<void> {
    const known = this.truth.get(name);
    let found = await this.send({ method: 'GET', path: this.path(name) });
    while (found.status >= 500 && !this.stopped) found = await this.send({ method: 'GET', path: this.path(name) });
    if (found.status !== 200 || known === undefined) {
      this.problems.push(`GET ${name} after a conflict: ${found.status}`);
      return;
    }
    const object = treeOf(found);
    this.compare(name, known, object);
    this.truth.set(name, { ...known, revision: Number(digText(object, 'metadata', 'resourceVersion')) });
  }

  private compare(name: string, known: Truth, object: JsonObject): void {
    const size = digText(object, 'spec', 'size');
    const replicas = Number(objectAt(object, 'status')?.['replicas'] ?? 0);
    if (size !== known.value || replicas !== known.status)
      this.problems.push(`${name} is ${size} ${replicas}, acknowledged was ${String(known.value)} ${known.status}`);
    const revision = Number(digText(object, 'metadata', 'resourceVersion'));
    if (revision < known.revision) this.problems.push(`${name} went back from ${known.revision} to ${revision}`);
  }

  /** Compares everything acknowledged with the objects of a server. */
  check(shown: ReadonlyMap<string, JsonObject>): void {
    for (const [name, known] of this.truth) {
      const object = shown.get(`${this.namespace}/${name}`);
      if (known.value === undefined) {
        if (object !== undefined) this.problems.push(`${name} is back from the dead`);
      } else if (object === undefined) this.problems.push(`${name} is lost`);
      else this.compare(name, known, object);
    }
  }

  private async send(call: Parameters<Http1['send']>[0]): Promise<Answer> {
    const server = this.servers[this.n % this.servers.length];
    if (server === undefined) throw new Error('there is no server');
    // If the connection breaks, the outcome is unknown.
    return server.send(call).catch((error: unknown) => ({ status: 599, headers: {}, text: String(error) }));
  }

  private path(name: string): string {
    return widgetsPath(this.namespace, name, this.group);
  }
}

/** Lists and reads constantly. No read may fail. */
export class SwitchReader {
  readonly problems: string[] = [];
  reads = 0;
  private stopped = false;
  private readonly done: Promise<void>;

  constructor(
    private readonly server: Http1,
    private readonly paths: readonly string[],
  ) {
    this.done = this.run();
  }

  async stop(): Promise<void> {
    this.stopped = true;
    await this.done;
  }

  private async run(): Promise<void> {
    let revision = 0;
    for (let i = 0; !this.stopped; i++) {
      const path = this.paths[i % this.paths.length] ?? '';
      try {
        const answer = await this.server.get(path);
        this.reads++;
        if (answer.status !== 200) this.problems.push(`GET ${path}: ${answer.status} ${answer.text.slice(0, 200)}`);
        else {
          const now = Number(digText(treeOf(answer), 'metadata', 'resourceVersion'));
          if (i % this.paths.length === 0) {
            if (now < revision) this.problems.push(`GET ${path}: revision ${now} after ${revision}`);
            revision = now;
          }
        }
      } catch (error) {
        this.problems.push(`GET ${path}: ${String(error)}`);
      }
      await pause(20);
    }
  }
}
