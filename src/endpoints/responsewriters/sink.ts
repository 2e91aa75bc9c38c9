import type { Clock } from '../../util/clock.js';
import type { CachedObject } from '../../storage/cacher/interfaces.js';
import type { ProtobufCodec } from '../../apimachinery/protobuf/protobuf.js';
import type { NegotiatedMedia } from '../negotiation/media.js';
import type { ByteSink } from './body.js';
import type { ResponseConventions } from './conventions.js';

/** The requested form of a list item or of the object in a watch event. */
export interface ItemForm extends Pick<NegotiatedMedia, 'encoding' | 'pretty' | 'as' | 'asVersion'> {
  readonly includeObject: string | undefined;
  /** The time in milliseconds that ages are computed from. */
  readonly now: number;
  /** True for the object of a watch event, which stands alone rather than in a list. */
  readonly whole?: boolean;
}

/** The destination of one response, its negotiated form, and the dependencies of the writers. */
export interface ResponseSink extends ByteSink {
  readonly media: NegotiatedMedia;
  readonly conventions: ResponseConventions;
  readonly clock: Clock;
  readonly protobuf: ProtobufCodec;
  /** The query parameter `includeObject`, unparsed. */
  readonly includeObject: string | undefined;
  /** Encodes a large item on a worker thread; undefined if it must be encoded on this thread. */
  readonly offload:
    ((object: CachedObject, form: ItemForm, weight?: number) => Promise<Uint8Array> | undefined) | undefined;
}

/** The ListMeta of a list. */
export interface ListMetadata {
  readonly resourceVersion: string;
  /** The continue token; '' or undefined at the end of a list. */
  readonly continue?: string | undefined;
  readonly remainingItemCount?: number | undefined;
  /** The selector of the shard that the list is restricted to. */
  readonly shard?: string | undefined;
}
