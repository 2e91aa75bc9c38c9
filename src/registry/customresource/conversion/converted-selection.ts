import type {
  Attributes,
  CachedList,
  CachedObject,
  ObjectPredicate,
  WatchEvent,
} from '../../../storage/cacher/interfaces.js';
import { ObjectEvent } from '../../../storage/object-event.js';
import { ObjectList } from '../../../storage/object-list.js';
import { EVERYTHING } from '../../../apimachinery/selectors/selection-predicate.js';

/** Returns the part of a predicate that the stored form can answer: name and namespace, which no conversion changes. */
export function selectableAsStored({ name, namespace }: ObjectPredicate): ObjectPredicate {
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
    private readonly predicate: ObjectPredicate,
    private readonly attributes: (object: CachedObject) => Attributes,
  ) {}

  matches(object: CachedObject): boolean {
    const { labels, fields } = object.undecodable ? object.attributes : this.attributes(object);
    return this.predicate.matches(labels, fields, object);
  }

  /** Returns a page of the selected objects of a whole list. */
  page(list: CachedList, limit: number): CachedList {
    const items: CachedObject[] = [];
    for (const object of list.items()) {
      if (!this.matches(object)) continue;
      if (limit > 0 && items.length === limit) return new ObjectList(list.revision, items, items.at(-1)?.key);
      items.push(object);
    }
    return new ObjectList(list.revision, items, undefined);
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
    if (now) return before ? event : new ObjectEvent('ADDED', revision, object);
    return before ? new ObjectEvent('DELETED', revision, previous) : undefined;
  }
}
