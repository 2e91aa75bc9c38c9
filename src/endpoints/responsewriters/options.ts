import type { Clock } from '../../util/clock.js';
import type { WriterOptions } from './body.js';

/** What a writer needs besides the request. */
export interface ResponseOptions extends WriterOptions {
  readonly clock: Clock;
  /** The query parameter of that name, as it was given. */
  readonly includeObject?: string | undefined;
}

/** ListMeta. */
export interface ListMetadata {
  readonly resourceVersion: string;
  /** '' or undefined at the end of a list. */
  readonly continue?: string | undefined;
  readonly remainingItemCount?: number | undefined;
}
