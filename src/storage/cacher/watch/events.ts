import type { Revision } from '../../interfaces.js';
import type { SelectionPredicate } from '../../selection-predicate.js';
import type { CachedItem } from '../tree/cached-item.js';
import type { EventFrame, WatchEvent, WatchEventType } from '../interfaces.js';

/** An event as watchers get it. The framed bytes are made once per frame and dropped when the event is no longer new. */
export class CachedEvent implements WatchEvent {
  private frameId: string | undefined;
  private frameBytes: Uint8Array | undefined;
  private more: Map<string, Uint8Array> | undefined;

  constructor(
    readonly type: WatchEventType,
    readonly revision: Revision,
    readonly object: CachedItem | undefined,
    readonly initialEventsEnd = false,
    private readonly previous?: CachedItem,
    readonly single = false,
  ) {}

  /** An object that was there when the watch began, for this watch alone. */
  static initial(item: CachedItem): CachedEvent {
    return new CachedEvent('ADDED', item.revision, item, false, undefined, true);
  }

  /** Follows the last of them. */
  static initialEventsEnd(revision: Revision): CachedEvent {
    return new CachedEvent('BOOKMARK', revision, undefined, true);
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

/** A change of one object, and the events that it means to watchers, according to what they select. */
export class Change {
  private added: CachedEvent | undefined;
  private modified: CachedEvent | undefined;
  private deleted: CachedEvent | undefined;

  constructor(
    readonly key: string,
    readonly revision: Revision,
    /** Undefined where the object is gone. */
    readonly current: CachedItem | undefined,
    readonly previous: CachedItem | undefined,
  ) {}

  /** What the change is to somebody who sees only what the predicate matches; undefined: nothing. */
  eventFor(predicate: SelectionPredicate): CachedEvent | undefined {
    const now = this.current !== undefined && matches(predicate, this.current);
    const { previous } = this;
    const before = previous !== undefined && matches(predicate, previous);
    if (now) {
      if (before) return (this.modified ??= new CachedEvent('MODIFIED', this.revision, this.current, false, previous));
      return (this.added ??= new CachedEvent('ADDED', this.revision, this.current));
    }
    if (!before) return undefined;
    return (this.deleted ??= new CachedEvent('DELETED', this.revision, previous.deletedAt(this.revision)));
  }

  /** Bytes that are kept for the sake of history alone. */
  get bytes(): number {
    return this.previous?.length ?? 0;
  }

  dropEncoded(): void {
    this.added?.dropEncoded();
    this.modified?.dropEncoded();
    this.deleted = undefined;
  }
}

function matches(predicate: SelectionPredicate, item: CachedItem): boolean {
  return predicate.everything || predicate.matches(item.attributes.labels, item.attributes.fields);
}
