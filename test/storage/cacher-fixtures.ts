import { objectAt, stringAt, type JsonObject } from '../../src/apimachinery/json/json.js';
import type {
  Attributes,
  CachedList,
  CachedObject,
  CachedType,
  CacheListOptions,
  CacheWatchOptions,
  EventFrame,
  Representation,
  ResourceCache,
  WatchEvent,
  Watcher,
} from '../../src/storage/cacher/interfaces.js';
import { EVERYTHING, type SelectionPredicate } from '../../src/apimachinery/selectors/selection-predicate.js';
import { RESOURCE } from './fixtures.js';

export function attributes(object: JsonObject): Attributes {
  const metadata = objectAt(object, 'metadata');
  const fields: Record<string, string> = { 'metadata.name': stringAt(metadata, 'name') ?? '' };
  const namespace = stringAt(metadata, 'namespace');
  if (namespace !== undefined) fields['metadata.namespace'] = namespace;
  const color = stringAt(objectAt(object, 'spec'), 'color');
  if (color !== undefined) fields['spec.color'] = color;
  return { labels: undefined, fields };
}

export const widgets: CachedType = { resource: RESOURCE, attributes };

/** Selects objects with this spec.color. */
export function colored(color: string, id?: string): SelectionPredicate {
  return {
    everything: false,
    matches: (_labels, fields) => fields['spec.color'] === color,
    ...(id === undefined ? {} : { id }),
  };
}

export const identity: Representation = {
  id: 'identity',
  identityUpTo: Infinity,
  render: (object) => object.bytes,
  separator: ',',
};

/** Renders the key and revision of each object, from its decoded form. */
export const brief: Representation = {
  id: 'brief',
  render: (object: CachedObject) => {
    const metadata = objectAt(object.decode(), 'metadata');
    return Buffer.from(`"${object.key}@${stringAt(metadata, 'resourceVersion') ?? '?'}"`);
  },
  separator: ',',
};

export const frame: EventFrame = {
  id: 'frame',
  encode: (event) => Buffer.from(`${event.type} ${event.object?.key ?? ''} ${event.revision}\n`),
};

export const page = (options: Partial<CacheListOptions> = {}): CacheListOptions => ({
  prefix: '',
  from: '',
  limit: 0,
  predicate: EVERYTHING,
  ...options,
});

export function keysOf(list: CachedList): string[] {
  return [...list.items()].map((item) => item.key);
}

export function joined(list: CachedList, representation: Representation): string {
  return Buffer.concat([...list.chunks(representation)]).toString();
}

/** A receiver that keeps its events and can be made full. */
export class Recorder {
  readonly events: WatchEvent[] = [];
  readonly ends: ('slow' | 'closed' | Error)[] = [];
  /** The number of further events until it reports that it is full. */
  room = Infinity;
  watcher: Watcher | undefined;

  receive(events: readonly WatchEvent[]): boolean {
    this.events.push(...events);
    this.room -= events.length;
    return this.room > 0;
  }

  ended(reason: 'slow' | 'closed' | Error): void {
    this.ends.push(reason);
  }

  lines(): string[] {
    return this.events.map((event) => Buffer.from(event.encoded(frame)).toString().trim());
  }
}

export async function watch(
  cache: ResourceCache,
  options: Partial<CacheWatchOptions> = {},
  recorder = new Recorder(),
): Promise<Recorder> {
  recorder.watcher = await cache.watch(
    {
      prefix: '',
      predicate: EVERYTHING,
      start: { mode: 'any' },
      initialEventsBookmark: false,
      bookmarks: false,
      deadline: Infinity,
      ...options,
    },
    recorder,
  );
  return recorder;
}

/** Waits until the condition holds. */
export async function until(condition: () => boolean, what = 'the condition'): Promise<void> {
  const end = Date.now() + 120_000;
  while (!condition()) {
    if (Date.now() > end) throw new Error(`${what} did not come about`);
    await new Promise((resolve) => setTimeout(resolve, 2));
  }
}
