import type { KubeObject } from '../../apimachinery/meta.js';
import type { CachedObject, WatchEvent } from '../../storage/cacher/interfaces.js';
import type { TypeListener } from '../rest/type-client.js';
import { DetachedObject } from './detached-object.js';
import { EventTurns, LARGE, tell } from './event-turns.js';

function eventOf(key: string, bytes: number): WatchEvent {
  const object = new DetachedObject({ key, revision: 1, bytes: new Uint8Array(bytes) });
  return { type: 'ADDED', revision: 1, object, initialEventsEnd: false, encoded: () => new Uint8Array() };
}

function listening(told: string[], only?: string): TypeListener {
  const note = (what: string) => (object: KubeObject) => void told.push(`${what} ${object.metadata.name ?? ''}`);
  return { only, upsert: note('upsert'), delete: note('delete'), reset: () => undefined, synced: () => undefined };
}

const viewCounting = (counts: { decoded: number }) => ({
  toObject: ({ key }: CachedObject): KubeObject => {
    counts.decoded++;
    return { metadata: { name: key.split('/')[1] ?? key } };
  },
});

test('a listener that wants one name is told of no other, and others are not decoded for it', () => {
  const told: string[] = [];
  const counts = { decoded: 0 };
  for (const key of ['ns/wanted', 'ns/unwanted', 'ns/other', 'wanted'])
    tell(listening(told, 'wanted'), eventOf(key, 10), viewCounting(counts));
  expect(told).toEqual(['upsert wanted', 'upsert wanted']);
  expect(counts.decoded).toBe(2);
});

test('a large object is decoded once for all listeners, each of which has a turn of the event loop for itself', async () => {
  const order: string[] = [];
  const counts = { decoded: 0 };
  const view = viewCounting(counts);
  const event = eventOf('ns/large', LARGE);
  const turns = [1, 2, 3].map((listener) => {
    const told = new EventTurns(
      (one) => {
        tell(listening(order), one, view);
        order.push(`listener ${String(listener)}`);
        setImmediate(() => order.push('turn'));
      },
      () => undefined,
    );
    told.add(event);
    return told;
  });
  expect(order).toEqual([]);
  for (const { told } of turns) await told;
  expect(counts.decoded).toBe(1);
  expect(order.filter((line) => line !== 'upsert large')).toEqual([
    'listener 1',
    'turn',
    'listener 2',
    'turn',
    'listener 3',
  ]);
});

test('what comes after a large object is told after it', async () => {
  const told: string[] = [];
  const view = viewCounting({ decoded: 0 });
  const turns = new EventTurns(
    (event) => {
      tell(listening(told), event, view);
    },
    () => undefined,
  );
  turns.add(eventOf('ns/first', 10));
  turns.add(eventOf('ns/large', LARGE));
  turns.add(eventOf('ns/last', 10));
  expect(told).toEqual(['upsert first']);
  await turns.told;
  expect(told).toEqual(['upsert first', 'upsert large', 'upsert last']);
});
