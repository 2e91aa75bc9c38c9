import {
  ApiError,
  newRequestEntityTooLarge,
  newResourceExpired,
  newTooManyRequests,
} from '../../apimachinery/meta/errors.js';
import { StorageError } from '../../storage/errors.js';

/**
 * Where a failure of the store becomes an answer: the one place that maps storage codes to Status. `asked`: the
 * resourceVersion of the request, as it was written; a double does not hold all that a client may ask for.
 */
export function interpretStorageError(error: unknown, what: 'get' | 'list' | 'watch' | 'write', asked = ''): unknown {
  if (!(error instanceof StorageError)) return error;
  switch (error.code) {
    case 'too-large':
      return tooLargeResourceVersion(
        /^\d+$/.test(asked) ? BigInt(asked) : (error.info.revision ?? 0),
        error.info.current ?? 0,
        what === 'watch' || error.info.atOnce !== true,
      );
    case 'compacted':
      return newResourceExpired(
        what === 'watch'
          ? `too old resource version: ${error.info.revision ?? 0} (${error.info.current ?? 0})`
          : 'The resourceVersion for the provided list is too old.',
      );
    case 'object-too-large':
      return newRequestEntityTooLarge(error.message);
    case 'corrupt':
      // What to say of it depends on the request.
      return error;
    case 'initializing':
      return newTooManyRequests(error.message, retryAfterSeconds(error.info.downMillis ?? 0));
    case 'unavailable':
    case 'closed':
    case 'unusable':
      return new ApiError(503, 'ServiceUnavailable', `the store is not available: ${error.message}`, {
        retryAfterSeconds: 1,
      });
    case 'unknown-outcome':
      // No advice to come again: clients that repeat a request by themselves must not repeat one that may have been done.
      return new ApiError(500, 'InternalError', `Internal error occurred: outcome unknown: ${error.message}`);
  }
}

/** As kube-apiserver advises: one second at first, and half a minute when a cache has not been ready for a minute. */
function retryAfterSeconds(downMillis: number): number {
  return Math.floor(Math.min(30, Math.exp((0.06 * downMillis) / 1_000)));
}

/** 504 with the cause that client-go looks for; with the advice to come again where the server has waited for it. */
function tooLargeResourceVersion(wanted: number | bigint, current: number, advises = true): ApiError {
  return new ApiError(504, 'Timeout', `Timeout: Too large resource version: ${wanted}, current: ${current}`, {
    causes: [{ reason: 'ResourceVersionTooLarge', message: 'Too large resource version' }],
    ...(advises ? { retryAfterSeconds: 1 } : {}),
  });
}
