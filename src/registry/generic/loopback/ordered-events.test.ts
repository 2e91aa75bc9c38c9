import type { KubeObject } from '../../../apimachinery/meta/meta.js';
import type { CachedObject, WatchEvent } from '../../../storage/cacher/interfaces.js';
import type { ResourceEventHandler } from '../../rest/loopback-client.js';
import { DetachedObject } from '../../../storage/detached-object.js';
import { OWN_TURN_BYTES } from '../../../scheduling/thresholds.js';
import { OrderedEvents } from './ordered-events.js';

function eventOf(key: string, bytes: number): WatchEvent {
  const object = new DetachedObject({ key, revision: 1, bytes: new Uint8Array(bytes), flags: 0 });
  return { type: 'ADDED', revision: 1, object, initialEventsEnd: false, encoded: () => new Uint8Array() };
}

function listening(reported: string[], only?: string): ResourceEventHandler {
  const note = (what: string) => (object: KubeObject) => void reported.push(`${what} ${object.metadata.name ?? ''}`);
  return { only, upsert: note('upsert'), delete: note('delete'), reset: () => undefined, synced: () => undefined };
}

const viewCounting = (counts: { decoded: number }) => ({
  toObject: ({ key }: CachedObject): KubeObject => {
    counts.decoded++;
    return { metadata: { name: key.split('/')[1] ?? key } };
  },
});

const ignored = (): void => undefined;

test('a listener for one name gets no other objects, and they are not decoded for it', async () => {
  const reported: string[] = [];
  const counts = { decoded: 0 };
  const turns = new OrderedEvents(listening(reported, 'wanted'), viewCounting(counts), ignored);
  for (const key of ['ns/wanted', 'ns/unwanted', 'ns/other', 'wanted']) turns.add(eventOf(key, 10));
  expect(reported).toEqual(['upsert wanted', 'upsert wanted']);
  turns.add(eventOf('ns/another', OWN_TURN_BYTES));
  turns.add(eventOf('other/wanted', OWN_TURN_BYTES));
  await turns.delivered;
  expect(reported.slice(2)).toEqual(['upsert wanted']);
  expect(counts.decoded).toBe(3);
});

test('a large object is decoded once, and each listener gets it in its own event loop turn', async () => {
  const order: string[] = [];
  const counts = { decoded: 0 };
  const view = viewCounting(counts);
  const event = eventOf('ns/large', OWN_TURN_BYTES);
  const turns = [1, 2, 3].map((listener) => {
    const upsert = (): void => {
      order.push(`listener ${String(listener)}`);
      setImmediate(() => order.push('turn'));
    };
    const reported = new OrderedEvents({ ...listening([]), upsert }, view, ignored);
    reported.add(event);
    return reported;
  });
  expect(order).toEqual([]);
  for (const { delivered } of turns) await delivered;
  expect(counts.decoded).toBe(1);
  expect(order).toEqual(['listener 1', 'turn', 'listener 2', 'turn', 'listener 3']);
});

test('events after a large object are delivered after it', async () => {
  const reported: string[] = [];
  const turns = new OrderedEvents(listening(reported), viewCounting({ decoded: 0 }), ignored);
  turns.add(eventOf('ns/first', 10));
  turns.add(eventOf('ns/large', OWN_TURN_BYTES));
  turns.add(eventOf('ns/last', 10));
  expect(reported).toEqual(['upsert first']);
  await turns.delivered;
  expect(reported).toEqual(['upsert first', 'upsert large', 'upsert last']);
});

describe('a very large object', () => {
  const of = (bytes: Buffer): WatchEvent => {
    const object = new DetachedObject({ key: 'ns/large', revision: 1, bytes, flags: 0 });
    return { ...eventOf('ns/large', 0), object };
  };
  const view = { toObject: (object: CachedObject): KubeObject => object.decode() as KubeObject };
  const deliver = async (bytes: Buffer): Promise<{ readonly reported: KubeObject[]; readonly turns: number }> => {
    const reported: KubeObject[] = [];
    let turns = 0;
    const others = (): void => {
      turns++;
      if (reported.length === 0) setImmediate(others);
    };
    setImmediate(others);
    const events = new OrderedEvents(
      { ...listening([]), upsert: (object) => void reported.push(object) },
      view,
      ignored,
    );
    events.add(of(bytes));
    await events.delivered;
    if (reported.length === 0) reported.push({ metadata: {} });
    return { reported, turns };
  };

  test('is decoded in several turns', async () => {
    const object = {
      metadata: { name: 'large' },
      data: Object.fromEntries([...Array(50_000).keys()].map((i) => [i, i])),
    };
    const { reported, turns } = await deliver(Buffer.from(JSON.stringify(object)));
    expect(reported).toEqual([object]);
    expect(turns).toBeGreaterThan(4);
  });

  test('that is invalid is not delivered', async () => {
    expect((await deliver(Buffer.alloc(1 << 20, '[1,'))).reported).toEqual([{ metadata: {} }]);
  });
});
