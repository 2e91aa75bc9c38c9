import type { Random } from '../model/random.js';
import { pause } from '../storage/mongod.js';
import type { Account, Listed, Session, Shown, Told, Write } from './account.js';
import type { Client, Reply } from './requests.js';

export const NAMESPACE = '/api/v1/namespaces/faults';
export const MAPS = `${NAMESPACE}/configmaps`;
export const LEASES = '/apis/coordination.k8s.io/v1/namespaces/faults/leases';
const WATCH_SECONDS = 25;
const READ_MILLIS = 70_000;

interface Item {
  readonly metadata: {
    readonly name: string;
    readonly resourceVersion: string;
    readonly annotations?: Readonly<Record<string, string>>;
  };
  readonly data?: { readonly n?: string };
  readonly spec?: { readonly holderIdentity?: string };
}

/** A replica as seen by clients. */
export interface Target {
  readonly name: string;
  readonly client: Client;
}

let names = 0;

/** Writes to its own keys, one request after another, at one server. */
export class Writer {
  private revision = '';
  private name = '';
  private count = 0;
  private deletion: Write | undefined;
  /** The last response and its latency. */
  reported = '';

  constructor(
    private readonly target: Target,
    private readonly account: Account,
    private readonly random: Random,
  ) {}

  async run(stopping: AbortSignal): Promise<void> {
    while (!stopping.aborted) {
      const begun = performance.now();
      const acknowledged = await this.writeOnce();
      // A server that refuses immediately is not called in a tight loop.
      if (!acknowledged && performance.now() - begun < 100) await pause(100);
      await pause(this.random.below(30));
    }
  }

  /** Reports whether the write was acknowledged. */
  async writeOnce(): Promise<boolean> {
    const fresh = this.revision === '';
    if (fresh) this.name = `k${++names}`;
    const verb = fresh
      ? this.random.pick(['create', 'apply'])
      : this.random.weighted([
          [3, 'update'],
          [3, 'patch'],
          [2, 'apply'],
          [1.5, 'delete'],
        ] as const);
    const value = `${this.name}-${++this.count}`;
    const begun = performance.now();
    const reply = await this.request(verb, value);
    this.reported = `${verb}: ${reply.status} after ${Math.round(performance.now() - begun)} ms: ${reply.text.slice(0, 300)}`;
    const good = reply.status === 200 || reply.status === 201;
    const revision = !good ? undefined : verb === 'delete' ? 0 : versionOf(reply.text);
    const write: Write = { key: this.name, server: this.target.name, verb, value, revision };
    this.account.wrote(write);
    if (revision === 0) this.deletion = write;
    else if (revision !== undefined && this.deletion !== undefined) {
      this.deletion.before = revision;
      this.deletion = undefined;
    }
    this.revision = good && verb !== 'delete' ? String(revision) : '';
    return good;
  }

  private request(verb: string, value: string): Promise<Reply> {
    const { client } = this.target;
    const path = `${MAPS}/${this.name}`;
    const data = { n: value };
    const metadata = { name: this.name, namespace: 'faults' };
    const map = { apiVersion: 'v1', kind: 'ConfigMap', metadata, data };
    switch (verb) {
      case 'create':
        return client.send({ method: 'POST', path: MAPS, body: map });
      case 'update':
        return client.send({
          method: 'PUT',
          path,
          body: { ...map, metadata: { ...metadata, resourceVersion: this.revision } },
        });
      case 'patch':
        return client.send({ method: 'PATCH', path, body: { data }, type: 'application/merge-patch+json' });
      case 'apply':
        return client.send({
          method: 'PATCH',
          path: `${path}?fieldManager=writer&force=true`,
          body: map,
          type: 'application/apply-patch+yaml',
        });
      default:
        return client.send({ method: 'DELETE', path });
    }
  }
}

/** Holds a lease like a controller, and renews it twice a second. */
export async function holdLease(target: Target, account: Account, stopping: AbortSignal): Promise<void> {
  const { client } = target;
  let version = '';
  let name = '';
  for (let i = 0; !stopping.aborted; i++) {
    if (version === '') name = `lease-${++names}`;
    const metadata = { name, namespace: 'faults', ...(version === '' ? {} : { resourceVersion: version }) };
    const value = `${name}-${i}`;
    const spec = {
      holderIdentity: value,
      leaseDurationSeconds: 15,
      renewTime: new Date().toISOString().replace('Z', '000Z'),
    };
    const body = { apiVersion: 'coordination.k8s.io/v1', kind: 'Lease', metadata, spec };
    const verb = version === '' ? 'create lease' : 'renew';
    const question = version === '' ? { method: 'POST', path: LEASES } : { method: 'PUT', path: `${LEASES}/${name}` };
    const reply = await client.send({ ...question, body });
    const good = reply.status === 200 || reply.status === 201;
    // A request without a good response may have been written nevertheless.
    const revision = good ? versionOf(reply.text) : undefined;
    account.wrote({ key: name, server: target.name, verb, value, revision });
    version = revision === undefined ? '' : String(revision);
    await pause(good ? 500 : 1_000);
  }
}

function versionOf(text: string): number {
  return Number((JSON.parse(text) as Item).metadata.resourceVersion);
}

const shownOf = ({ metadata, data, spec }: Item): Shown => ({
  revision: Number(metadata.resourceVersion),
  value: data?.n ?? spec?.holderIdentity ?? '',
});

/** Lists all current objects. Returns undefined if the server fails. */
export async function listNow(
  target: Target,
  account: Account,
  what: string,
  path = MAPS,
): Promise<Listed | undefined> {
  const atLeast = account.newest;
  const reply = await target.client.send({ path }, READ_MILLIS);
  if (reply.status !== 200) return undefined;
  const list = JSON.parse(reply.text) as { metadata: { resourceVersion: string }; items: Item[] };
  const objects = new Map(list.items.map((item) => [item.metadata.name, shownOf(item)]));
  return { server: target.name, what, revision: Number(list.metadata.resourceVersion), atLeast, objects };
}

/** Lists repeatedly. Several readers run concurrently, so that some are waiting when a server recovers. */
export async function readLists(target: Target, account: Account, stopping: AbortSignal): Promise<void> {
  while (!stopping.aborted) {
    const list = await listNow(target, account, 'a consistent list');
    if (list !== undefined) account.lists.push(list);
    await pause(list === undefined ? 50 : 150);
  }
}

/** Lists and watches like a client-go informer, and keeps the known objects. */
export class Informer {
  private readonly known = new Map<string, Shown>();
  private revision = 0;

  constructor(
    private readonly target: Target,
    private readonly account: Account,
  ) {}

  get objects(): ReadonlyMap<string, Shown> {
    return this.known;
  }

  get server(): string {
    return this.target.name;
  }

  get newest(): number {
    return this.revision;
  }

  async run(stopping: AbortSignal): Promise<void> {
    let listed = false;
    while (!stopping.aborted) {
      if (!listed) listed = await this.list();
      if (listed) listed = await this.watch(stopping);
      await pause(100);
    }
  }

  private async list(): Promise<boolean> {
    const list = await listNow(this.target, this.account, 'the list of an informer');
    if (list === undefined) return false;
    this.account.lists.push(list);
    this.known.clear();
    for (const [key, shown] of list.objects) this.known.set(key, shown);
    this.revision = list.revision;
    return true;
  }

  /** Returns false if the informer must list again. */
  private async watch(stopping: AbortSignal): Promise<boolean> {
    const query = `watch=true&resourceVersion=${this.revision}&allowWatchBookmarks=true&timeoutSeconds=${WATCH_SECONDS}`;
    const session: Session = { server: this.target.name, from: this.revision, until: this.revision, events: [] };
    try {
      const stream = await this.target.client.open({ path: `${MAPS}?${query}` }, READ_MILLIS);
      const stop = (): void => void stream.destroy();
      stopping.addEventListener('abort', stop);
      const timer = setTimeout(stop, (WATCH_SECONDS + 60) * 1_000);
      try {
        if (stream.statusCode !== 200) {
          stream.resume();
          return stream.statusCode !== 410;
        }
        this.account.sessions.push(session);
        return await this.read(stream, session);
      } finally {
        clearTimeout(timer);
        stopping.removeEventListener('abort', stop);
      }
    } catch {
      return true;
    }
  }

  private async read(stream: NodeJS.ReadableStream, session: Session): Promise<boolean> {
    let rest = '';
    stream.setEncoding('utf8');
    for await (const chunk of stream) {
      const lines = (rest + String(chunk)).split('\n');
      rest = lines.pop() ?? '';
      for (const line of lines) {
        const { type, object } = JSON.parse(line) as { type: string; object: Item };
        if (type === 'ERROR') return false;
        this.take(type, object, session);
      }
    }
    return true;
  }

  private take(type: string, object: Item, session: Session): void {
    const revision = Number(object.metadata.resourceVersion);
    this.revision = Math.max(this.revision, revision);
    session.until = Math.max(session.until, revision);
    if (type === 'BOOKMARK') return;
    const shown = shownOf(object);
    const reported: Told = { revision, type, key: object.metadata.name, value: type === 'DELETED' ? '' : shown.value };
    session.events.push(reported);
    if (type === 'DELETED') this.known.delete(reported.key);
    else this.known.set(reported.key, shown);
  }
}
