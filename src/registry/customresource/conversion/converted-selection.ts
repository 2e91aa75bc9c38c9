import { selectFrom } from '../../../storage/cacher/collect.js';
import type {
  Attributes,
  CachedList,
  CachedObject,
  CacheListOptions,
  ObjectPredicate,
  WatchEvent,
} from '../../../storage/cacher/interfaces.js';
import { ObjectEvent, ObjectList } from '../../../storage/object-list.js';
import type { Clock } from '../../../util/clock.js';
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

  /** Returns a page of the selected objects of a whole list, which is from the page on if it is in the order of the keys. */
  async page(list: CachedList, options: CacheListOptions, clock: Pick<Clock, 'monotonic'>): Promise<CachedList> {
    const { order, from } = options;
    const last = order === undefined ? undefined : [...list.items()].find(({ key }) => key === from);
    const { selected, failures } = await selectFrom(
      list.items(),
      { ...options, predicate: this.predicate },
      {
        last,
        more: false,
        clock,
        attributes: (object) => (object.undecodable ? object.attributes : this.attributes(object)),
      },
    );
    const { items, rest, remaining } = selected;
    return new ObjectList(list.revision, items, rest ? items.at(-1)?.key : undefined, { remaining, failures });
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
