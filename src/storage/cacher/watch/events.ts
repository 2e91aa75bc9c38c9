import type { Revision } from '../../interfaces.js';
import { selects } from '../selections.js';
import type { CachedItem } from '../tree/cached-item.js';
import type { EventFrame, ObjectPredicate, WatchEvent, WatchEventType } from '../interfaces.js';

/** An event as delivered to watchers. The framed bytes are made once per frame and dropped when the event is no longer recent. */
export class CachedEvent implements WatchEvent {
  private frameId: string | undefined;
  private frameBytes: Uint8Array | undefined;
  private more: Map<string, Uint8Array> | undefined;

  constructor(
    readonly type: WatchEventType,
    readonly revision: Revision,
    readonly object: CachedItem | undefined,
    private readonly previous?: CachedItem,
    private readonly role?: 'initial event' | 'end of the initial events',
  ) {}

  /** Returns the event for an object that existed when the watch began, for this watch only. */
  static initial(item: CachedItem): CachedEvent {
    return new CachedEvent('ADDED', item.revision, item, undefined, 'initial event');
  }

  /** Returns the bookmark that follows the last initial event. */
  static initialEventsEnd(revision: Revision): CachedEvent {
    return new CachedEvent('BOOKMARK', revision, undefined, undefined, 'end of the initial events');
  }

  get initialEventsEnd(): boolean {
    return this.role === 'end of the initial events';
  }

  get single(): boolean {
    return this.role === 'initial event';
  }

  previousDeleted(): CachedItem | undefined {
    return this.previous?.deletedAt(this.revision);
  }

  encoded(frame: EventFrame): Uint8Array {
    const known = this.kept(frame.id);
    if (known !== undefined) return known;
    const bytes = frame.encode(this);
    if (this.frameBytes === undefined) {
      this.frameId = frame.id;
      this.frameBytes = bytes;
    } else {
      this.more ??= new Map<string, Uint8Array>();
      this.more.set(frame.id, bytes);
    }
    return bytes;
  }

  kept(frameId: string): Uint8Array | undefined {
    return this.frameId === frameId ? this.frameBytes : this.more?.get(frameId);
  }

  dropEncoded(): void {
    this.frameId = undefined;
    this.frameBytes = undefined;
    this.more = undefined;
  }
}

/** The maximum number of predicates whose events a change remembers. */
const MAX_CAUSES = 256;

/** A change of one object, and the events that it causes for watchers, depending on their predicates. */
export class Change {
  private added: CachedEvent | undefined;
  private modified: CachedEvent | undefined;
  private deleted: CachedEvent | undefined;
  /** The events by the ids of predicates with conditions. */
  private causes: Map<string, { readonly event: CachedEvent | undefined }> | undefined;
  private isRecent = true;

  constructor(
    readonly key: string,
    readonly revision: Revision,
    /** Undefined if the object was deleted. */
    readonly current: CachedItem | undefined,
    readonly previous: CachedItem | undefined,
  ) {}

  /**
   * Returns the event that the change causes for watchers with a predicate, or undefined if it causes none. While the change is recent, a
   * condition is evaluated once for all watchers that share the predicate.
   */
  eventFor(predicate: ObjectPredicate): CachedEvent | undefined {
    const { condition, id } = predicate;
    if (condition === undefined || id === undefined) return this.find(predicate);
    const known = this.causes?.get(id);
    if (known !== undefined) return known.event;
    const event = this.find(predicate);
    if (this.isRecent && (this.causes?.size ?? 0) < MAX_CAUSES) (this.causes ??= new Map()).set(id, { event });
    return event;
  }

  private find(predicate: ObjectPredicate): CachedEvent | undefined {
    const now = this.current !== undefined && selects(predicate, this.current);
    const { previous } = this;
    const before = previous !== undefined && selects(predicate, previous);
    if (now) {
      if (before) return (this.modified ??= new CachedEvent('MODIFIED', this.revision, this.current, previous));
      return (this.added ??= new CachedEvent('ADDED', this.revision, this.current));
    }
    if (!before) return undefined;
    return (this.deleted ??= new CachedEvent('DELETED', this.revision, previous.deletedAt(this.revision)));
  }

  /** The number of bytes that are kept only for the history. */
  get bytes(): number {
    return this.previous?.length ?? 0;
  }

  dropEncoded(): void {
    this.added?.dropEncoded();
    this.modified?.dropEncoded();
    this.deleted = undefined;
    this.causes = undefined;
    this.isRecent = false;
  }
}
