import type { CachedObject, EventFrame, WatchEvent, WatchEventType } from './cacher/interfaces.js';

/** An event about an object that does not come from the watch cache as it is. */
export class ObjectEvent implements WatchEvent {
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
