import { ApiError, newRequestEntityTooLarge } from '../../../apimachinery/meta/errors.js';
import type { RequestContext } from '../../../request/context.js';
import type { Cancellation } from '../../../util/cancellation.js';
import { timed } from '../../../util/metrics/stopwatch.js';
import type { HttpRequest } from '../../http.js';

const EMPTY = Buffer.alloc(0);

/**
 * Reads the whole body of a request. Rejects with a 413 beyond the limit, in bytes. The rest of a body that is too large is not
 * read: the server closes the connection after the response.
 */
export function readBody(
  request: HttpRequest,
  limit: number,
  { cancellation, stopwatch }: Pick<RequestContext, 'cancellation' | 'stopwatch'>,
): Promise<Buffer> {
  const announced = Number(request.headers['content-length'] ?? NaN);
  if (announced === 0) return Promise.resolve(EMPTY);
  if (announced > limit) return Promise.reject(newRequestEntityTooLarge(`limit is ${limit}`));
  return timed(stopwatch, 'request-read', () => readAll(request, limit, cancellation));
}

function readAll(request: HttpRequest, limit: number, cancellation: Cancellation): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let size = 0;
    const done = (finish: () => void): void => {
      request.removeListener('data', onData);
      request.removeListener('end', onEnd);
      request.removeListener('error', onError);
      request.removeListener('aborted', onAborted);
      cancellation.removeEventListener('abort', onAborted);
      finish();
    };
    const onData = (chunk: Buffer): void => {
      size += chunk.length;
      if (size > limit) {
        done(() => {
          request.pause();
          reject(newRequestEntityTooLarge(`limit is ${limit}`));
        });
        return;
      }
      chunks.push(chunk);
    };
    const onEnd = (): void => done(() => resolve(chunks.length === 1 ? (chunks[0] ?? EMPTY) : Buffer.concat(chunks)));
    const onError = (error: Error): void => done(() => reject(error));
    const onAborted = (): void =>
      done(() => reject(new ApiError(504, 'Timeout', 'Timeout: request did not complete within the allotted timeout')));
    request.on('data', onData);
    request.on('end', onEnd);
    request.on('error', onError);
    request.on('aborted', onAborted);
    cancellation.addEventListener('abort', onAborted);
  });
}
