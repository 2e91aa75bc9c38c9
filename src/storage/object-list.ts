import { gzipSync } from 'node:zlib';
import type {
  CachedList,
  CachedObject,
  EventFrame,
  Failures,
  Representation,
  WatchEvent,
  WatchEventType,
} from './cacher/interfaces.js';

/** A list of given objects, which nothing else keeps. `lastKey` is set if more objects may follow. */
export class ObjectList implements CachedList {
  readonly remaining: number | undefined;
  readonly failures: Failures | undefined;

  constructor(
    readonly revision: number,
    private readonly objects: readonly CachedObject[],
    readonly lastKey: string | undefined,
    { remaining, failures }: Pick<Partial<CachedList>, 'remaining' | 'failures'> = {},
  ) {
    this.remaining = remaining;
    this.failures = failures;
  }

  get length(): number {
    return this.objects.length;
  }

  items(): Iterable<CachedObject> {
    return this.objects;
  }

  *chunks(representation: Representation): Generator<Uint8Array> {
    const separator = Buffer.from(representation.separator);
    let first = true;
    for (const object of this.objects) {
      if (!first && separator.length > 0) yield separator;
      first = false;
      yield object.render(representation);
    }
  }

  gzipChunks(representation: Representation): Iterable<Uint8Array> {
    return this.objects.length === 0 ? [] : [gzipSync(Buffer.concat([...this.chunks(representation)]))];
  }
}

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
