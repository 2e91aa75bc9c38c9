import { IncomingMessage, ServerResponse } from 'node:http';
import { Socket } from 'node:net';
import { Registry } from 'prom-client';
import { Exchange } from '../../endpoints/filters/exchange.js';
import type { Handler } from '../../endpoints/http.js';
import { FakeClock } from '../../../test/fakes/util/clock.js';
import { silentLogger } from '../../util/logger.js';
import {
  Health,
  type HealthCheck,
  type HealthEndpoint,
  LogCheck,
  pingCheck,
  PostStartHook,
  ShutdownCheck,
} from './health.js';

const ALL: readonly HealthEndpoint[] = ['healthz', 'livez', 'readyz'];

class RecordedResponse extends ServerResponse {
  body = '';

  override end(chunk?: unknown): this {
    if (typeof chunk === 'string') this.body = chunk;
    return this;
  }
}

class Bed {
  readonly clock = new FakeClock();
  readonly registry = new Registry();
  readonly health = new Health(this.clock, silentLogger, this.registry);
  private readonly handlers = new Map<string, Handler>();

  install(): this {
    this.health.install({
      register: (path, handler) => {
        this.handlers.set(path, handler);
      },
    });
    return this;
  }

  async get(url: string): Promise<[number, string] | undefined> {
    const [path = '', query = ''] = url.split('?');
    const handler = this.handlers.get(path);
    if (handler === undefined) return undefined;
    const request = new IncomingMessage(new Socket());
    const response = new RecordedResponse(request);
    const connection = { socket: undefined, http2: false, retire: () => undefined };
    await handler(new Exchange(request, response, connection, 'id', 0, 0, path, query), request, response);
    return [response.statusCode, response.body];
  }
}

const failing = (name: string): HealthCheck => ({
  name,
  check: () => {
    throw new Error(`${name} is ill`);
  },
});
const well = (name: string): HealthCheck => ({ name, check: () => Promise.resolve() });

describe('the response', () => {
  test('is short if all checks pass, and lists the checks with verbose', async () => {
    const bed = new Bed();
    bed.health.add(pingCheck, ALL);
    bed.health.add(well('etcd'), ['readyz']);
    bed.install();
    expect(await bed.get('/readyz')).toEqual([200, 'ok']);
    expect(await bed.get('/readyz?verbose')).toEqual([200, '[+]ping ok\n[+]etcd ok\nreadyz check passed\n']);
    expect(await bed.get('/livez?verbose=1')).toEqual([200, '[+]ping ok\nlivez check passed\n']);
  });

  test('names the failed check without the reason', async () => {
    const bed = new Bed();
    bed.health.add(pingCheck, ALL);
    bed.health.add(failing('etcd'), ALL);
    bed.install();
    expect(await bed.get('/healthz')).toEqual([
      500,
      '[+]ping ok\n[-]etcd failed: reason withheld\nhealthz check failed\n',
    ]);
    // The path of a single check reports the reason, because it needs separate permissions.
    expect(await bed.get('/healthz/etcd')).toEqual([500, 'internal server error: etcd is ill\n']);
    expect(await bed.get('/healthz/ping')).toEqual([200, 'ok']);
    expect(await bed.get('/healthz/other')).toBeUndefined();
    expect(await bed.registry.metrics()).toContain('kubernetes_healthcheck{name="etcd",type="healthz"} 0');
  });

  test('omits excluded checks, and warns about unknown names', async () => {
    const bed = new Bed();
    bed.health.add(failing('etcd'), ALL);
    bed.health.add(failing('log'), ALL);
    bed.install();
    expect(await bed.get('/livez?exclude=etcd&exclude=log')).toEqual([200, 'ok']);
    expect(await bed.get('/livez?exclude=etcd&exclude=log&exclude=b&exclude=a&verbose')).toEqual([
      200,
      '[+]etcd excluded: ok\n[+]log excluded: ok\nwarn: some health checks cannot be excluded: no matches for "a","b"\nlivez check passed\n',
    ]);
    expect((await bed.get('/livez?exclude=etcd'))?.[0]).toBe(500);
  });
});

test('the grace period applies only to livez, and ends', async () => {
  const bed = new Bed();
  bed.health.add(failing('poststarthook/slow'), ALL, 10_000);
  bed.install();
  const codes = async (): Promise<unknown[]> => [
    (await bed.get('/livez'))?.[0],
    (await bed.get('/readyz'))?.[0],
    (await bed.get('/healthz'))?.[0],
  ];
  expect(await codes()).toEqual([200, 500, 500]);
  bed.clock.advance(9_999);
  expect(await codes()).toEqual([200, 500, 500]);
  bed.clock.advance(1);
  expect(await codes()).toEqual([500, 500, 500]);
});

test('a post-start hook passes once it is finished', async () => {
  let finish: () => void = () => undefined;
  const hook = new PostStartHook('work', () => new Promise((resolve) => (finish = resolve)));
  expect(hook.name).toBe('poststarthook/work');
  const running = hook.start();
  expect(() => {
    hook.check();
  }).toThrow('not finished');
  finish();
  await running;
  expect(() => {
    hook.check();
  }).not.toThrow();
  const broken = new PostStartHook('broken', () => Promise.reject(new Error('no')));
  await expect(broken.start()).rejects.toThrow('no');
  expect(() => {
    broken.check();
  }).toThrow('failed');
});

test('the shutdown check fails once the shutdown begins', () => {
  const check = new ShutdownCheck();
  expect(() => {
    check.check();
  }).not.toThrow();
  check.begin();
  expect(() => {
    check.check();
  }).toThrow('process is shutting down');
});

test('the log check fails after two minutes without a flush', async () => {
  const clock = new FakeClock();
  let stuck = false;
  const flush = (): Promise<void> => (stuck ? new Promise(() => undefined) : Promise.resolve());
  const check = new LogCheck({ ...silentLogger, flush }, clock);
  const advance = async (millis: number): Promise<void> => {
    clock.advance(millis);
    await Promise.resolve();
    await Promise.resolve();
  };
  const ask = (): void => {
    check.check();
  };
  expect(ask).not.toThrow();
  for (let i = 0; i < 5; i++) {
    await advance(60_000);
    expect(ask).not.toThrow();
  }
  stuck = true;
  await advance(60_000);
  expect(ask).not.toThrow();
  await advance(60_000);
  expect(ask).toThrow('logging blocked');
});
