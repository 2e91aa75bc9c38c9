import {
  ApiError,
  newRequestEntityTooLarge,
  newResourceExpired,
  newTooManyRequests,
} from '../apimachinery/meta/errors.js';
import { StorageError } from './errors.js';

/**
 * Maps a storage error to an API Status; no other place does. `requestedVersion` is the request's resourceVersion as written, because a
 * double cannot hold every value that a client may send.
 */
export function interpretStorageError(
  error: unknown,
  what: 'get' | 'list' | 'watch' | 'write',
  requestedVersion = '',
): unknown {
  if (!(error instanceof StorageError)) return error;
  switch (error.code) {
    case 'too-large':
      return tooLargeResourceVersion(
        /^\d+$/.test(requestedVersion) ? BigInt(requestedVersion) : (error.info.revision ?? 0),
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
      // The response depends on the request, so the caller maps this one.
      return error;
    case 'initializing':
      return newTooManyRequests(error.message, retryAfterSeconds(error.info.downMillis ?? 0));
    case 'unavailable':
    case 'closed':
    case 'unusable':
      // With Retry-After, client-go repeats a request up to ten times: long enough for a failover.
      return new ApiError(503, 'ServiceUnavailable', `the store is not available: ${error.message}`, {
        retryAfterSeconds: error.info.lasting === true ? 0 : 1,
      });
    case 'unknown-outcome':
      // No Retry-After: clients that retry automatically must not repeat a request that may have taken effect.
      return new ApiError(500, 'InternalError', `Internal error occurred: outcome unknown: ${error.message}`);
  }
}

/** Returns the Retry-After of kube-apiserver: one second at first, 30 seconds once a cache has not been ready for about a minute. */
function retryAfterSeconds(downMillis: number): number {
  return Math.floor(Math.min(30, Math.exp((0.06 * downMillis) / 1_000)));
}

/** Returns a 504 with the cause that client-go looks for, and with Retry-After unless the server refused without waiting. */
function tooLargeResourceVersion(wanted: number | bigint, current: number, advises = true): ApiError {
  return new ApiError(504, 'Timeout', `Timeout: Too large resource version: ${wanted}, current: ${current}`, {
    causes: [{ reason: 'ResourceVersionTooLarge', message: 'Too large resource version' }],
    ...(advises ? { retryAfterSeconds: 1 } : {}),
  });
}
