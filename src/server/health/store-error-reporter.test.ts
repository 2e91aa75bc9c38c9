import { Registry } from 'prom-client';
import { compacted, StorageError } from '../../storage/errors.js';
import { redact } from '../../storage/mongodb/connection/redact.js';
import { FakeClock } from '../../../test/fakes/util/clock.js';
import { silentLogger, type Logger } from '../../util/logger.js';
import { StoreErrorReporter } from './store-error-reporter.js';

class NetworkError extends Error {
  override readonly name = 'MongoNetworkError';
}

function setUp() {
  const lines: [string, Readonly<Record<string, unknown>> | undefined][] = [];
  const logger: Logger = { ...silentLogger, warn: (message, fields) => void lines.push([message, fields]) };
  const clock = new FakeClock();
  const uri = 'mongodb://annex:hunter2@db-1:27017/';
  const registry = new Registry();
  const troubles = new StoreErrorReporter({ registry, logger, clock, redact: (text) => redact(text, uri) });
  return { lines, clock, registry, troubles };
}

const away = (cause: Error): StorageError => new StorageError('unavailable', 'MongoDB does not answer', { cause });

describe('a failed request', () => {
  test('is logged with its cause once per kind and 10 s, with the number of repetitions', () => {
    const { lines, clock, troubles } = setUp();
    const refused = away(new NetworkError('connect ECONNREFUSED 10.0.0.1:27017'));
    troubles.requestFailed('update', refused);
    clock.advance(9_999);
    troubles.requestFailed('list', refused);
    troubles.requestFailed('list', refused);
    troubles.requestFailed('list', away(new RangeError('offset')));
    clock.advance(1);
    troubles.requestFailed('get', refused);
    const error = 'MongoDB does not answer';
    const message = 'store request failed';
    const cause = 'connect ECONNREFUSED 10.0.0.1:27017';
    expect(lines).toEqual([
      [message, { operation: 'update', error, repeated: 0, cause }],
      [message, { operation: 'list', error, repeated: 0, cause: 'offset' }],
      [message, { operation: 'get', error, repeated: 2, cause }],
    ]);
  });

  test('has the same kind regardless of the numbers in its message', () => {
    const { lines, troubles } = setUp();
    for (let i = 0; i < 1_000; i++)
      troubles.requestFailed('list', new StorageError('unavailable', `MongoDB tells revision ${i}, but ${i + 1}`));
    expect(lines).toHaveLength(1);
  });

  test('is logged without credentials', () => {
    const { lines, troubles } = setUp();
    const secret = new NetworkError('mongodb://annex:hunter2@db-1 refuses hunter2');
    troubles.requestFailed('get', away(secret));
    troubles.streamFailed('', away(secret));
    troubles.indexFailed('configmaps', secret);
    expect(lines).toHaveLength(3);
    expect(JSON.stringify(lines)).not.toContain('hunter2');
    expect(JSON.stringify(lines)).toContain('mongodb://***@db-1 refuses ***');
  });

  test('is not logged for compaction or an error outside of the store', () => {
    const { lines, troubles } = setUp();
    troubles.requestFailed('list', compacted(3, 7));
    troubles.requestFailed('list', new TypeError('a mistake'));
    expect(lines).toEqual([]);
  });
});

test('errors of change streams, commit paths, and indexes are counted', async () => {
  const { registry, troubles } = setUp();
  troubles.streamFailed('reports', new Error('gone'));
  troubles.startedOver('');
  troubles.indexFailed('configmaps', new Error('no room'));
  const text = await registry.metrics();
  expect(text).toContain('annex_store_change_stream_errors_total{log="reports"} 1');
  expect(text).toContain('annex_store_commit_restarts_total{log=""} 1');
  expect(text).toContain('annex_store_index_errors_total{resource="configmaps"} 1');
});
