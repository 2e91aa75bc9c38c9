import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { JsonObject } from '../../src/apimachinery/json/json.js';
import { encodeObject } from '../../src/storage/encode.js';
import { EmbeddedBackend } from '../../src/storage/embedded/backend.js';
import type {
  Backend,
  EncodedObject,
  LogEvent,
  Revision,
  StoreBackend,
  StoredObject,
  WriteRequest,
} from '../../src/storage/interfaces.js';
import { UNCHECKED } from '../../src/storage/record.js';
import type { Clock } from '../../src/util/clock.js';

/** Prepares stores for tests that open the same data repeatedly. */
export interface StoreFixture {
  readonly name: string;
  /** True if the history window is measured by the clock in the options; MongoDB uses its own. */
  readonly usesClock?: boolean;
  /** True if a deletion may overtake an earlier write, which is encrypted first. */
  readonly reorders?: boolean;
  /** Prepares an empty store that is not open. */
  prepare(): Promise<PreparedStore>;
}

export interface PreparedStore {
  backend(options?: { readonly clock?: Clock; readonly historyMillis?: number }): Backend;
  dispose(): Promise<void>;
}

export const embedded: StoreFixture = {
  name: 'embedded',
  usesClock: true,
  prepare: async () => {
    const directory = await mkdtemp(join(tmpdir(), 'annex-store-'));
    return {
      backend: (options) => new EmbeddedBackend({ directory, ...options }),
      dispose: () => rm(directory, { recursive: true, force: true }),
    };
  },
};

export const RESOURCE = 'widgets.example.com';

export function widget(key: string, spec: JsonObject = {}): JsonObject {
  const slash = key.indexOf('/');
  const name = key.slice(slash + 1);
  const namespace = slash < 0 ? undefined : key.slice(0, slash);
  return {
    apiVersion: 'example.com/v1',
    kind: 'Widget',
    metadata: { name, ...(namespace === undefined ? {} : { namespace }), labels: { app: 'x' } },
    spec,
  };
}

export function put(key: string, expected: Revision, spec: JsonObject = {}, resource = RESOURCE): WriteRequest {
  return { resource, key, expected, value: encodeObject(widget(key, spec)) };
}

export function remove(key: string, expected: Revision, resource = RESOURCE): WriteRequest {
  return { resource, key, expected, value: undefined };
}

/** Returns the written object. Fails the test on a conflict. */
export async function commit(backend: Backend, request: WriteRequest): Promise<StoredObject> {
  const result = await backend.write(request);
  if (result.outcome !== 'committed')
    throw new Error(`conflict on ${request.key}: current is ${result.current?.revision}`);
  return result.object;
}

export function decode(object: StoredObject | undefined): JsonObject {
  if (object === undefined) throw new Error('there is no object');
  return JSON.parse(Buffer.from(object.bytes).toString()) as JsonObject;
}

export function describeEvent(event: LogEvent): string {
  return `${event.revision} ${event.type} ${event.key}${event.previous === undefined ? '' : ` was ${event.previous.revision}`}`;
}

/** Replaces the bytes of a stored object with bytes that are not JSON. */
export async function corrupt(backend: StoreBackend, resource: string, key: string, bytes: Uint8Array): Promise<void> {
  const current = await backend.get(resource, key);
  const result = await backend.write({ resource, key, expected: current?.revision ?? 0, value: rawValue(bytes) });
  if (result.outcome !== 'committed') throw new Error(`${key} was written meanwhile`);
}

/** Returns a value that a backend stores as it is. It has no decoded form, so that readers see the bytes. */
const rawValue = (sealed: Uint8Array): EncodedObject => {
  const raw: Omit<EncodedObject, 'object'> = { head: '', tail: '', flags: UNCHECKED, sealed };
  return raw as EncodedObject;
};

/** Collects this many events after a revision. */
export async function collect(backend: Backend, after: Revision, count: number): Promise<LogEvent[]> {
  const controller = new AbortController();
  const events: LogEvent[] = [];
  if (count === 0) return events;
  for await (const batch of backend.events(after, controller.signal)) {
    events.push(...batch);
    if (events.length >= count) break;
  }
  controller.abort();
  return events;
}

export const everything = { prefix: '', from: '', limit: 0, revision: 0 } as const;
