/**
 * Measures the embedded store and the cacher by themselves, without a server:
 *     node test/bench/managedfields-run.mjs test/bench/storage.bench.ts [objects]
 */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import type { JsonObject } from '../../src/apimachinery/json/json.js';
import { StorageCacher } from '../../src/storage/cacher/cacher.js';
import type { CachedList, Representation, ResourceCache, WatchEvent } from '../../src/storage/cacher/interfaces.js';
import { EmbeddedBackend } from '../../src/storage/embedded/backend.js';
import { encodeObject } from '../../src/storage/encode.js';
import { EVERYTHING } from '../../src/apimachinery/selectors/selection-predicate.js';

const OBJECTS = Number(process.argv[3] ?? 10_000);
const RESOURCE = 'policyreports.wgpolicyk8s.io';
const PAGE = { prefix: '', from: '', limit: 0, predicate: EVERYTHING };
const newest = { mode: 'most-recent' } as const;

const identity: Representation = {
  id: 'json',
  identityUpTo: Infinity,
  render: (object) => object.bytes,
  separator: ',',
};
const small: Representation = {
  id: 'meta',
  render: (object) => Buffer.from(JSON.stringify(object.decode()['metadata'])),
  separator: ',',
};
const frame = {
  id: 'json',
  encode: (event: WatchEvent) =>
    Buffer.concat([
      Buffer.from(`{"type":"${event.type}","object":`),
      event.object?.bytes ?? Buffer.alloc(0),
      Buffer.from('}\n'),
    ]),
};

function report(i: number, version = 0): JsonObject {
  return {
    apiVersion: 'wgpolicyk8s.io/v1alpha2',
    kind: 'PolicyReport',
    metadata: {
      name: `report-${String(i).padStart(6, '0')}`,
      namespace: `ns-${i % 100}`,
      uid: '2f0a3d4e-7c1f-4a55-9c6a-0d6b1a5d0c11',
      creationTimestamp: '2026-01-01T00:00:00Z',
      labels: { app: `app-${i % 100}`, 'managed-by': 'bench' },
      managedFields: [
        {
          manager: 'bench',
          operation: 'Update',
          fieldsV1: {
            'f:results': Object.fromEntries(Array.from({ length: 24 }, (_, n) => [`k:{"rule":"r${n}"}`, { '.': {} }])),
          },
        },
      ],
    },
    results: Array.from({ length: 12 }, (_, n) => ({
      policy: 'require-labels',
      rule: `check-for-label-${n}`,
      message: `validation rule passed for resource number ${i} (${version})`,
      result: 'pass',
      scored: true,
      timestamp: { seconds: 1767225600, nanos: 0 },
    })),
    summary: { error: 0, fail: 0, pass: 12, skip: 0, warn: 0 },
  };
}

const keyOf = (i: number): string => `ns-${i % 100}/report-${String(i).padStart(6, '0')}`;

async function measure(
  name: string,
  count: number,
  unit: string,
  work: () => Promise<unknown> | undefined,
): Promise<void> {
  const loop = monitorEventLoopDelay({ resolution: 1 });
  loop.enable();
  const cpu = process.cpuUsage();
  const start = performance.now();
  await work();
  const millis = performance.now() - start;
  const used = process.cpuUsage(cpu);
  await new Promise((resolve) => setTimeout(resolve, 3));
  loop.disable();
  const micros = (used.user + used.system) / count;
  console.log(
    `${name.padEnd(44)} ${(millis / count).toFixed(4).padStart(10)} ms/${unit} ${micros.toFixed(1).padStart(10)} µs CPU/${unit}  ${((count / millis) * 1000).toFixed(0).padStart(9)}/s  loop max ${(loop.max / 1e6).toFixed(0)} ms`,
  );
}

function memory(name: string): void {
  globalThis.gc?.();
  const { rss, heapUsed, external, arrayBuffers } = process.memoryUsage();
  const mb = (bytes: number): string => (bytes / 1048576).toFixed(0);
  // Pages of the store's file that the process has read count as resident, too; the kernel reclaims them at will.
  const mapped = Number(/RssFile:\s+(\d+)/.exec(readFileSync('/proc/self/status', 'utf8'))?.[1] ?? 0) * 1024;
  console.log(
    `${name.padEnd(44)} rss ${mb(rss)} MB (of it ${mb(mapped)} of mapped files), heap ${mb(heapUsed)}, external ${mb(external)}, buffers ${mb(arrayBuffers)}`,
  );
}

async function clients(count: number, total: number, work: (i: number) => Promise<unknown>): Promise<void> {
  let next = 0;
  await Promise.all(
    Array.from({ length: count }, async () => {
      while (next < total) await work(next++);
    }),
  );
}

async function drain(chunks: Iterable<Uint8Array> | AsyncIterable<Uint8Array>): Promise<number> {
  let bytes = 0;
  for await (const chunk of chunks) bytes += chunk.length;
  return bytes;
}

const sync = (list: CachedList, representation: Representation): number => {
  let bytes = 0;
  for (const chunk of list.chunks(representation)) bytes += chunk.length;
  return bytes;
};

async function writes(backend: EmbeddedBackend): Promise<void> {
  const per = Math.floor(OBJECTS / 10);
  const encoded = (i: number) => ({ resource: RESOURCE, key: keyOf(i), expected: 0, value: encodeObject(report(i)) });
  let base = 0;
  for (const [count, total] of [
    [1, per],
    [16, per * 2],
    [64, OBJECTS - per * 3],
  ] as const) {
    const from = base;
    await measure(`create, ${count} clients`, total, 'write', () =>
      clients(count, total, (i) => backend.write(encoded(from + i))),
    );
    base += total;
  }
}

async function reads(cache: ResourceCache): Promise<void> {
  const keys = Array.from({ length: OBJECTS }, (_, i) => keyOf(i));
  await measure('get any', 200_000, 'get', async () => {
    for (let i = 0; i < 200_000; i++) await cache.get(keys[(i * 7919) % OBJECTS] ?? '', { mode: 'any' });
  });
  await measure('get most recent', 200_000, 'get', async () => {
    for (let i = 0; i < 200_000; i++) await cache.get(keys[(i * 7919) % OBJECTS] ?? '', newest);
  });
  await measure('list, first', 1, 'list', async () => sync(await cache.list(newest, PAGE), identity));
  await measure('list, unchanged', 100, 'list', async () => {
    for (let i = 0; i < 100; i++) sync(await cache.list(newest, PAGE), identity);
  });
  console.log('chunks of a list:', [...(await cache.list(newest, PAGE)).chunks(identity)].length);
  await measure('list gzip, first', 1, 'list', async () =>
    drain((await cache.list(newest, PAGE)).gzipChunks(identity)),
  );
  await measure('list gzip, unchanged', 100, 'list', async () => {
    for (let i = 0; i < 100; i++)
      for (const _ of (await cache.list(newest, PAGE)).gzipChunks(identity) as Iterable<Uint8Array>) continue;
  });
  await measure('list metadata, first', 1, 'list', async () => sync(await cache.list(newest, PAGE), small));
  await measure('list metadata, unchanged', 100, 'list', async () => {
    for (let i = 0; i < 100; i++) sync(await cache.list(newest, PAGE), small);
  });
  await measure('list in chunks of 500', 10, 'list', async () => {
    for (let i = 0; i < 10; i++) {
      let from = '';
      const { revision } = await cache.list(newest, { ...PAGE, limit: 500 });
      do {
        const list = await cache.list({ mode: 'exact', revision }, { ...PAGE, from, limit: 500 });
        sync(list, identity);
        from = list.lastKey === undefined ? '' : `${list.lastKey}\0`;
      } while (from !== '');
    }
  });
  await measure('list of a namespace', 1000, 'list', async () => {
    for (let i = 0; i < 1000; i++) sync(await cache.list(newest, { ...PAGE, prefix: `ns-${i % 100}/` }), identity);
  });
  const label = {
    everything: false,
    matches: (labels: Readonly<Record<string, string>> | undefined) => labels?.['app'] === 'app-7',
  };
  await measure('list 1 % by label', 100, 'list', async () => {
    for (let i = 0; i < 100; i++) sync(await cache.list(newest, { ...PAGE, predicate: label }), identity);
  });
}

async function updates(backend: EmbeddedBackend, cache: ResourceCache): Promise<void> {
  const total = 5000;
  let seen = 0;
  await measure('update, 16 clients', total, 'write', () =>
    clients(16, total, async (i) => {
      const key = keyOf(i % OBJECTS);
      const expected = (await cache.get(key, newest))?.revision ?? 0;
      await backend.write({ resource: RESOURCE, key, expected, value: encodeObject(report(i % OBJECTS, 1)) });
    }),
  );
  await measure('list after updates', 1, 'list', async () => sync(await cache.list(newest, PAGE), identity));
  const watchers = await Promise.all(
    Array.from({ length: 500 }, () =>
      cache.watch(
        {
          ...PAGE,
          start: { mode: 'exact', revision: cache.revision() },
          initialEventsBookmark: false,
          bookmarks: true,
          deadline: Infinity,
        },
        {
          receive: (events) => {
            for (const event of events) seen += event.encoded(frame).length > 0 ? 1 : 0;
            return true;
          },
          ended: () => undefined,
        },
      ),
    ),
  );
  await new Promise((resolve) => setTimeout(resolve, 50));
  await measure('update with 500 watchers', 500 * 500, 'event', async () => {
    await clients(16, 500, async (i) => {
      const expected = (await cache.get(keyOf(i), newest))?.revision ?? 0;
      await backend.write({ resource: RESOURCE, key: keyOf(i), expected, value: encodeObject(report(i, 2)) });
    });
    while (seen < 500 * 500) await new Promise((resolve) => setImmediate(resolve));
  });
  for (const watcher of watchers) watcher.stop();
  await measure('watch list to the bookmark', 10, 'watch', async () => {
    for (let i = 0; i < 10; i++) {
      await new Promise<void>((resolve) => {
        void cache.watch(
          { ...PAGE, start: newest, initialEventsBookmark: true, bookmarks: true, deadline: Infinity },
          {
            receive: (events) => {
              for (const event of events) event.encoded(frame);
              if (events.some((event) => event.initialEventsEnd)) resolve();
              return true;
            },
            ended: () => undefined,
          },
        );
      });
    }
  });
}

async function main(): Promise<void> {
  const directory = mkdtempSync(join(tmpdir(), 'annex-bench-'));
  const type = {
    resource: RESOURCE,
    attributes: (object: JsonObject) => {
      const metadata = object['metadata'] as { labels: Record<string, string>; name: string; namespace: string };
      return {
        labels: metadata.labels,
        fields: { 'metadata.name': metadata.name, 'metadata.namespace': metadata.namespace },
      };
    },
  };
  memory('idle');
  let backend = new EmbeddedBackend({ directory });
  await backend.open();
  await writes(backend);
  await backend.close();
  memory('written');
  backend = new EmbeddedBackend({ directory });
  await measure('open the store', 1, 'open', () => backend.open());
  const cacher = new StorageCacher({ backend });
  await cacher.start();
  const cache = cacher.add(type);
  await measure('load the cache', 1, 'load', () => cache.ready());
  memory('loaded');
  await reads(cache);
  memory('listed');
  await updates(backend, cache);
  memory('updated');
  console.log(JSON.stringify(cacher.stats().budget), JSON.stringify(cacher.stats().history));
  await cacher.stop();
  await backend.close();
  rmSync(directory, { recursive: true, force: true });
}

void main();
