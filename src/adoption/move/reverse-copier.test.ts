import { deepCopy, type JsonObject } from '../../apimachinery/json/json.js';
import type { KubeObject } from '../../apimachinery/meta/meta.js';
import { encodeObject } from '../../storage/encode.js';
import type { Backend, LogEvent, StoredObject } from '../../storage/interfaces.js';
import { encodedBytes } from '../../storage/object-bytes.js';
import { systemClock } from '../../util/clock.js';
import { RateLimit } from '../rate-limit.js';
import { ReverseCopier } from './reverse-copier.js';

const TYPE = { resource: 'widgets.example.com', plural: 'widgets', kind: 'Widget', namespaced: true, hasStatus: true };
const FIRST = 1_000;
const DOOR = '/apis/example.com/annexreturn1';

type Owner = { readonly name: string; readonly uid: string };

function widget(
  name: string,
  uid: string,
  size: number,
  more: { owner?: Owner; status?: number; generation?: number } = {},
): KubeObject {
  const { owner, status, generation = 1 } = more;
  const reference = owner && { apiVersion: 'example.com/v1', kind: 'Widget', name: owner.name, uid: owner.uid };
  return {
    apiVersion: 'example.com/v1',
    kind: 'Widget',
    metadata: { name, namespace: 'n', uid, generation, ...(reference && { ownerReferences: [reference] }) },
    spec: { size },
    ...(status !== undefined && { status: { size: status } }),
  };
}

/** The cluster's copy, with the semantics of kube-apiserver. */
class FakeCluster {
  readonly objects = new Map<string, KubeObject>();
  readonly calls: string[] = [];
  revision = 500;
  refuses = '';

  add(object: KubeObject, revision = ++this.revision): void {
    const metadata = { ...object.metadata, resourceVersion: String(revision) };
    this.objects.set(object.metadata.name ?? '', { ...object, apiVersion: 'example.com/annexreturn1', metadata });
  }

  call = (method: string, path: string, body?: JsonObject): Promise<{ status: number; body: JsonObject }> => {
    const [, name = '', subresource = ''] =
      /^\/namespaces\/n\/widgets\/?([^/?]*)(\/status)?/.exec(path.slice(DOOR.length)) ?? [];
    if (!path.startsWith(DOOR)) return Promise.resolve({ status: 404, body: {} });
    if (method === 'GET' && name === '') {
      const items = [...this.objects.values()];
      const shown = path.includes('limit=1&') || path.endsWith('limit=1') ? items.slice(0, 1) : items;
      const remainingItemCount = items.length - shown.length;
      return answer(200, {
        metadata: { resourceVersion: String(this.revision), remainingItemCount },
        items: shown as readonly JsonObject[] as JsonObject[],
      });
    }
    const found = this.objects.get(name);
    if (method === 'GET') return found === undefined ? answer(404, {}) : answer(200, found);
    this.calls.push(`${method} ${name}${subresource}`);
    const sent = body as KubeObject | undefined;
    if (this.refuses !== '' && this.refuses === (name === '' ? sent?.metadata.name : name))
      return answer(422, { message: 'too large' });
    if (method === 'POST') return answer(201, this.create(sent as KubeObject));
    if (found === undefined) return answer(404, {});
    const wanted = method === 'DELETE' ? (body?.['preconditions'] as JsonObject) : (sent?.metadata as JsonObject);
    if (wanted['resourceVersion'] !== found.metadata.resourceVersion || wanted['uid'] !== found.metadata.uid)
      return answer(409, { message: 'conflict' });
    if (method === 'DELETE') {
      this.objects.delete(name);
      this.revision++;
      return answer(200, {});
    }
    return answer(200, this.update(found, sent as KubeObject, subresource));
  };

  private create(sent: KubeObject): JsonObject {
    const { status: _, ...rest } = deepCopy(sent);
    const { name = '' } = sent.metadata;
    const object = {
      ...rest,
      metadata: { ...sent.metadata, uid: `cluster-${name}-${++this.revision}`, generation: 1 },
    } as KubeObject;
    this.add(object, this.revision);
    return deepCopy(this.objects.get(name) as JsonObject);
  }

  private update(found: KubeObject, sent: KubeObject, subresource: string): JsonObject {
    const { uid = '', generation = 1 } = found.metadata;
    const isNew = subresource === '' && JSON.stringify(found['spec']) !== JSON.stringify(sent['spec']);
    const from =
      subresource === '' ? { ...deepCopy(sent), status: found['status'] } : { ...found, status: sent['status'] };
    const object = {
      ...from,
      metadata: { ...(subresource === '' ? sent : found).metadata, uid, generation: generation + (isNew ? 1 : 0) },
    };
    if (object.status === undefined) Reflect.deleteProperty(object, 'status');
    this.add(object);
    return deepCopy(this.objects.get(sent.metadata.name ?? '') as JsonObject);
  }
}

const answer = (status: number, body: JsonObject): Promise<{ status: number; body: JsonObject }> =>
  Promise.resolve({ status, body });

/** The objects in Annex. Every write after `FIRST` is delivered as an event. */
class FakeAnnex implements Pick<Backend, 'list' | 'get' | 'events' | 'currentRevision'> {
  readonly objects = new Map<string, StoredObject>();
  revision = FIRST;
  private reported: LogEvent[] = [];
  private wake: () => void = () => undefined;

  put(object: KubeObject, revision = ++this.revision): void {
    const key = `n/${object.metadata.name ?? ''}`;
    const stored = { key, revision, bytes: encodedBytes(encodeObject(object), revision), flags: 0 };
    this.objects.set(key, stored);
    if (revision > FIRST) this.emit({ revision, resource: TYPE.resource, key, type: 'MODIFIED', object: stored });
  }

  delete(name: string): void {
    const key = `n/${name}`;
    const object = this.objects.get(key) as StoredObject;
    this.objects.delete(key);
    this.emit({ revision: ++this.revision, resource: TYPE.resource, key, type: 'DELETED', object });
  }

  list: Backend['list'] = () =>
    Promise.resolve({ items: [...this.objects.values()], revision: this.revision, more: false, remaining: 0 });

  get: Backend['get'] = (_, key) => Promise.resolve(this.objects.get(key));

  currentRevision = (): Promise<number> => Promise.resolve(this.revision);

  events: Backend['events'] = (after, signal) => {
    const read = async function* (this: FakeAnnex): AsyncGenerator<readonly LogEvent[]> {
      for (let at = after; !signal.aborted;) {
        const batch = this.reported.filter(({ revision }) => revision > at);
        at = batch.at(-1)?.revision ?? at;
        if (batch.length > 0) yield batch;
        else
          await new Promise<void>((resolve) => {
            this.wake = resolve;
            signal.addEventListener('abort', () => {
              resolve();
            });
          });
      }
    };
    return read.call(this);
  };

  private emit(event: LogEvent): void {
    this.reported.push(event);
    this.wake();
  }
}

function setUp() {
  const [cluster, annex, over] = [new FakeCluster(), new FakeAnnex(), new AbortController()];
  const raise = (above: number): Promise<void> => {
    cluster.revision = Math.max(cluster.revision, above);
    return Promise.resolve();
  };
  const carrier = new ReverseCopier({
    ...{ backend: annex, client: { call: cluster.call, watch: () => Promise.reject(new Error('no watch')) }, raise },
    ...{ clock: systemClock, rate: new RateLimit(systemClock, 100_000), group: 'example.com', door: 'annexreturn1' },
    ...{ types: [TYPE], first: FIRST },
  });
  const carry = async (): Promise<void> => {
    await carrier.survey(over.signal);
    await carrier.drain(annex.revision, 0, 5_000, over.signal);
    await carrier.assertEqualCounts();
  };
  const unchanged = widget('same', 'u-same', 1);
  annex.put(unchanged, 400);
  cluster.add(unchanged, 400);
  return { cluster, annex, carrier, carry, over };
}

const revisionOf = (object: KubeObject | undefined): number => Number(object?.metadata.resourceVersion);

let running: AbortController | undefined;
afterEach(() => running?.abort());

function started() {
  const parts = setUp();
  running = parts.over;
  return parts;
}

test('unchanged objects stay untouched; changed ones get a revision above their revision in Annex', async () => {
  const { cluster, annex, carry } = started();
  cluster.add(widget('changed', 'u-changed', 1), 401);
  annex.put(widget('changed', 'u-changed', 2, { generation: 2 }), 1_700);
  annex.revision = 1_700;
  await carry();
  expect(cluster.calls).toEqual(['PUT changed']);
  expect(revisionOf(cluster.objects.get('same'))).toBe(400);
  const changed = cluster.objects.get('changed');
  expect(changed?.['spec']).toEqual({ size: 2 });
  expect(changed?.metadata.uid).toBe('u-changed');
  expect(revisionOf(changed)).toBeGreaterThan(1_700);
});

test('an object that was changed and changed back is written twice, to raise its revision', async () => {
  const { cluster, annex, carry } = started();
  cluster.add(widget('again', 'u', 1), 401);
  annex.put(widget('again', 'u', 1), 1_300);
  annex.revision = 1_300;
  await carry();
  const again = cluster.objects.get('again');
  expect(revisionOf(again)).toBeGreaterThan(1_300);
  expect(again?.metadata.annotations).toBeUndefined();
});

test('a change of the status alone does not raise the generation', async () => {
  const { cluster, annex, carrier, carry } = started();
  cluster.add(widget('one', 'u', 1), 401);
  annex.put(widget('one', 'u', 1, { status: 7 }));
  await carry();
  expect(cluster.calls).toEqual(['PUT one/status']);
  expect(cluster.objects.get('one')?.metadata.generation).toBe(1);
  expect(carrier.progress.lowered).toBe(0);
});

test('several changes become one write, and the lower generation is counted', async () => {
  const { cluster, annex, carrier, carry } = started();
  cluster.add(widget('one', 'u', 1), 401);
  annex.put(widget('one', 'u', 5, { generation: 5 }));
  await carry();
  expect(cluster.objects.get('one')?.metadata.generation).toBe(2);
  expect(carrier.progress).toMatchObject({ lowered: 1, left: 0, refused: 0 });
});

test('objects deleted in Annex are deleted despite their finalizers', async () => {
  const { cluster, carry } = started();
  const gone = widget('gone', 'u', 1);
  cluster.add({ ...gone, metadata: { ...gone.metadata, finalizers: ['example.com/hold'] } }, 401);
  await carry();
  expect([...cluster.objects.keys()]).toEqual(['same']);
});

test('an object that was recreated gets another uid', async () => {
  const { cluster, annex, carrier, carry } = started();
  cluster.add(widget('one', 'u-old', 1), 401);
  annex.put(widget('one', 'u-new', 1));
  await carry();
  expect(cluster.calls).toEqual(['DELETE one', 'POST ']);
  expect(cluster.objects.get('one')?.metadata.uid).not.toBe('u-old');
  expect([...carrier.createdInAnnex]).toEqual(['u-new']);
});

test('owner references within the group have the new uids, in whatever order objects are copied', async () => {
  const { cluster, annex, carry } = started();
  annex.put(widget('a-child', 'u-child', 1, { owner: { name: 'owner', uid: 'u-owner' } }));
  annex.put(widget('b-child', 'u-child-2', 1, { owner: { name: 'same', uid: 'u-same' } }));
  annex.put(widget('c-child', 'u-child-3', 1, { owner: { name: 'gone', uid: 'u-gone' } }));
  annex.put(widget('owner', 'u-owner', 1));
  await carry();
  const owners = (name: string) => cluster.objects.get(name)?.metadata.ownerReferences?.map(({ uid }) => uid);
  expect(owners('a-child')).toEqual([cluster.objects.get('owner')?.metadata.uid]);
  expect(owners('b-child')).toEqual(['u-same']);
  // The owner exists on neither side; the garbage collector acts on the reference.
  expect(owners('c-child')).toEqual(['u-gone']);
});

test('another leader starts from scratch, with the same outcome', async () => {
  const first = started();
  const { cluster, annex } = first;
  annex.put(widget('born', 'u-born', 1));
  await first.carry();
  annex.delete('born');
  annex.put(widget('born', 'u-again', 2));
  const made = cluster.objects.get('born')?.metadata.uid;
  const next = new ReverseCopier({
    ...{ backend: annex, client: { call: cluster.call, watch: () => Promise.reject(new Error('no watch')) } },
    ...{ clock: systemClock, rate: new RateLimit(systemClock, 100_000), group: 'example.com', door: 'annexreturn1' },
    ...{ types: [TYPE], first: FIRST, raise: () => Promise.resolve() },
  });
  await next.survey(first.over.signal);
  await next.drain(annex.revision, 0, 5_000, first.over.signal);
  await next.assertEqualCounts();
  expect(cluster.objects.get('born')?.['spec']).toEqual({ size: 2 });
  expect(cluster.objects.get('born')?.metadata.uid).not.toBe(made);
});

test('later writes are followed', async () => {
  const { cluster, annex, carrier, over, carry } = started();
  await carry();
  annex.put(widget('late', 'u-late', 1));
  annex.delete('same');
  await carrier.drain(annex.revision, 0, 5_000, over.signal);
  expect([...cluster.objects.keys()]).toEqual(['late']);
});

test('an object that the cluster refuses is named, and copied once the cluster accepts it', async () => {
  const { cluster, annex, carrier, over } = started();
  cluster.refuses = 'big';
  annex.put(widget('big', 'u-big', 1));
  await carrier.survey(over.signal);
  await expect(carrier.drain(0, 100, 300, over.signal)).rejects.toThrow(
    '1 objects have not been copied back: widgets n/big: too large',
  );
  expect(carrier.progress.refused).toBe(1);
  cluster.refuses = '';
  await carrier.drain(0, 100, 5_000, over.signal);
  await carrier.assertEqualCounts();
});
