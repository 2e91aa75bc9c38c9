import { ApiError } from '../apimachinery/meta/errors.js';
import { StorageError } from './errors.js';
import { interpretStorageError } from './interpret-error.js';

test.each([
  ['a moment ago', 0, 1],
  ['after some seconds', 11_000, 1],
  ['after more', 12_000, 2],
  ['after half a minute', 30_000, 6],
  ['after an hour', 3_600_000, 30],
])('an initializing type returns 429 with a retry delay, %s', (_name, downMillis, seconds) => {
  const reported = interpretStorageError(
    new StorageError('initializing', 'storage is (re)initializing', { downMillis }),
    'watch',
  );
  if (!(reported instanceof ApiError)) throw new Error('no Status');
  expect(reported.status).toMatchObject({
    status: 'Failure',
    message: 'storage is (re)initializing',
    reason: 'TooManyRequests',
    details: { retryAfterSeconds: seconds },
    code: 429,
  });
});
