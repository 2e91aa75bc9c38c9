import { gzipSync } from 'node:zlib';
import type {
  Attributes,
  CachedList,
  CachedObject,
  EventFrame,
  Representation,
  WatchEvent,
  WatchEventType,
} from '../../../storage/cacher/interfaces.js';
import { EVERYTHING, type SelectionPredicate } from '../../../apimachinery/selectors/selection-predicate.js';

/** Returns the part of a predicate that the stored form can answer: name and namespace, which no conversion changes. */
export function selectableAsStored({ name, namespace }: SelectionPredicate): SelectionPredicate {
  if (name === undefined && namespace === undefined) return EVERYTHING;
  return {
    everything: false,
    matches: (_labels, fields) =>
      (name === undefined || fields['metadata.name'] === name) &&
      (namespace === undefined || fields['metadata.namespace'] === namespace),
    name,
    namespace,
  };
}

/** Selects objects by the labels and fields that a version shows. The objects must have been prepared. */
export class ConvertedSelection {
  constructor(
    private readonly predicate: SelectionPredicate,
    private readonly attributes: (object: CachedObject) => Attributes,
  ) {}

  matches(object: CachedObject): boolean {
    const { labels, fields } = object.undecodable ? object.attributes : this.attributes(object);
    return this.predicate.matches(labels, fields);
  }

  /** Returns a page of the selected objects of a whole list. */
  page(list: CachedList, limit: number): CachedList {
    const items: CachedObject[] = [];
    for (const object of list.items()) {
      if (!this.matches(object)) continue;
      if (limit > 0 && items.length === limit) return new SelectedList(list.revision, items, items.at(-1)?.key);
      items.push(object);
    }
    return new SelectedList(list.revision, items, undefined);
  }

  /**
   * Returns the event as a watcher sees it that only gets selected objects; undefined if it sees none. `previous` is the object
   * before a MODIFIED event.
   */
  event(event: WatchEvent, previous: CachedObject | undefined): WatchEvent | undefined {
    const { object, revision } = event;
    if (object === undefined) return event;
    const now = this.matches(object);
    if (event.type !== 'MODIFIED') return now ? event : undefined;
    const before = previous !== undefined && this.matches(previous);
    if (now) return before ? event : new SelectedEvent('ADDED', revision, object);
    return before ? new SelectedEvent('DELETED', revision, previous) : undefined;
  }
}

class SelectedEvent implements WatchEvent {
  readonly initialEventsEnd = false;

  constructor(
    readonly type: WatchEventType,
    readonly revision: number,
    readonly object: CachedObject,
  ) {}

  encoded(frame: EventFrame): Uint8Array {
    return frame.encode(this);
  }
}

class SelectedList implements CachedList {
  readonly remaining = undefined;

  constructor(
    readonly revision: number,
    private readonly selected: readonly CachedObject[],
    readonly lastKey: string | undefined,
  ) {}

  get length(): number {
    return this.selected.length;
  }

  items(): Iterable<CachedObject> {
    return this.selected;
  }

  *chunks(representation: Representation): Generator<Uint8Array> {
    const separator = Buffer.from(representation.separator);
    let first = true;
    for (const object of this.selected) {
      if (!first && separator.length > 0) yield separator;
      first = false;
      yield object.render(representation);
    }
  }

  gzipChunks(representation: Representation): Iterable<Uint8Array> {
    return this.selected.length === 0 ? [] : [gzipSync(Buffer.concat([...this.chunks(representation)]))];
  }
}
