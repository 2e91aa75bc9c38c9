import { TestChain } from '../../../test/fakes/endpoints/handler-chain.js';
import { Timings } from '../../endpoints/filters/timings.js';
import { silentLogger } from '../../util/logger.js';
import { RequestLog } from './request-log.js';

interface Line {
  readonly message: string;
  readonly fields: Readonly<Record<string, unknown>> | undefined;
}

function setup(verbosity = 0) {
  const lines: Line[] = [];
  const add = (message: string, fields?: Line['fields']): void => {
    lines.push({ message, fields });
  };
  const stage = new TestChain();
  const logger = {
    ...silentLogger,
    info: add,
    enabled: (level: number) => level <= verbosity,
    v: (_level: number, ...line: Parameters<typeof add>) => {
      add(...line);
    },
  };
  return { lines, stage, log: new RequestLog(logger, stage.clock) };
}

test('a slow request has one line with the duration of its phases', () => {
  const { lines, stage, log } = setup();
  const { exchange } = stage.start({ url: '/api/v1/pods?token=abc' });
  exchange.stopwatch = new Timings(stage.clock);
  exchange.stopwatch.record('etcd', 300);
  exchange.stopwatch.record('etcd', 210.4);
  exchange.stopwatch.record('request-read', 0.2);
  exchange.recordWebhookDuration('mutating-webhook', 40);
  log.completed(exchange, 500);
  expect(lines).toEqual([]);
  log.completed(exchange, 560.5);
  expect(lines).toEqual([
    {
      message: 'slow request',
      fields: expect.objectContaining({
        verb: 'list',
        URI: '/api/v1/pods',
        'audit-ID': 'id',
        latency: '560.500ms',
        phasesMillis: { 'mutating-webhook': 40, etcd: 510 },
      }) as unknown,
    },
  ]);
});

test('watches are not logged as slow', () => {
  const { lines, stage, log } = setup();
  log.completed(stage.start({ url: '/api/v1/pods?watch=1' }).exchange, 60_000);
  expect(lines).toEqual([]);
});

test('logs ten lines per second, and reports the number of omitted lines', () => {
  const { lines, stage, log } = setup();
  const { exchange } = stage.start();
  for (let i = 0; i < 25; i++) log.completed(exchange, 1000);
  expect(lines).toHaveLength(10);
  stage.clock.advance(1000);
  log.completed(exchange, 1000);
  log.completed(exchange, 1000);
  expect(lines.slice(10).map(({ fields }) => fields?.['omittedLines'])).toEqual([15, undefined]);
});

test('logs every request from verbosity 3', () => {
  const { lines, stage, log } = setup(3);
  log.completed(stage.start().exchange, 1.5);
  expect(lines).toMatchObject([{ message: 'HTTP', fields: { verb: 'list', latency: '1.500ms', 'audit-ID': 'id' } }]);
});

test('what a client chooses takes little space', () => {
  const { lines, stage, log } = setup();
  const { exchange } = stage.start({ url: `/${'x'.repeat(900_000)}` });
  exchange.request.headers['user-agent'] = 'a'.repeat(900_000);
  log.completed(exchange, 600);
  expect(lines[0]?.fields?.['URI']).toBe(`/${'x'.repeat(1023)}...`);
  expect(JSON.stringify(lines).length).toBeLessThan(3000);
});
