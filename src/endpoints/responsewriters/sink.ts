import type { Clock } from '../../util/clock.js';
import type { CachedObject } from '../../storage/cacher/interfaces.js';
import type { ProtobufCodec } from '../../apimachinery/protobuf/protobuf.js';
import type { NegotiatedMedia } from '../negotiation/media.js';
import type { ByteSink } from './body.js';
import type { ResponseConventions } from './conventions.js';

/** How an item of a list, or the object of a watch event, is wanted. */
export interface ItemForm extends Pick<NegotiatedMedia, 'encoding' | 'pretty' | 'as' | 'asVersion'> {
  readonly includeObject: string | undefined;
  /** For ages. */
  readonly now: number;
  /** Set for a watch event: an object by itself. */
  readonly whole?: boolean;
}

/** Where one answer goes, in the form that was negotiated, and what writers need to make it. */
export interface ResponseSink extends ByteSink {
  readonly media: NegotiatedMedia;
  readonly conventions: ResponseConventions;
  readonly clock: Clock;
  readonly protobuf: ProtobufCodec;
  /** The query parameter of that name, as it was given. */
  readonly includeObject: string | undefined;
  /** Has another thread make the form of a large item; undefined: it must be made here. */
  readonly offload: ((object: CachedObject, form: ItemForm) => Promise<Uint8Array> | undefined) | undefined;
}

/** ListMeta. */
export interface ListMetadata {
  readonly resourceVersion: string;
  /** '' or undefined at the end of a list. */
  readonly continue?: string | undefined;
  readonly remainingItemCount?: number | undefined;
}
