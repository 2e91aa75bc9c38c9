import { AuthenticationError } from '../../authentication/authenticator/interfaces.js';
import { newNotFound } from '../../apimachinery/meta/errors.js';
import { FILTERS } from './chain.js';
import { ALICE, MASTER, message, TestChain } from '../../../test/fakes/endpoints/handler-chain.js';

describe('the handler chain', () => {
  test('runs its stages in this order', () => {
    expect(FILTERS.map(([name]) => name)).toEqual([
      'panic-recovery',
      'request-info',
      'deadline',
      'warnings',
      'authentication',
      'tracing',
      'audit',
      'impersonation',
      'max-in-flight',
      'authorization',
    ]);
  });

  test('authenticates, authorizes, and serves without a promise', () => {
    const stage = new TestChain();
    const { response, running } = stage.start();
    expect(running).toBeUndefined();
    expect(stage.log).toEqual(['authenticate', 'authorize list pods', 'handler']);
    expect(response.body).toBe('done');
    expect(response.getHeader('cache-control')).toBe('no-cache, private');
  });

  test('parses the path before it authenticates', async () => {
    const stage = new TestChain();
    const response = await stage.run({ url: '/api/v1/watch' });
    expect(stage.log).toEqual([]);
    expect(response.statusCode).toBe(500);
    expect(response.body).toBe(
      'Internal Server Error: "/api/v1/watch": failed to create RequestInfo: unable to determine kind and namespace from url, /api/v1/watch\n',
    );
  });

  test('refuses an invalid timeout before it authenticates', async () => {
    const stage = new TestChain();
    const response = await stage.run({ url: '/livez?timeout=abc' });
    expect(stage.log).toEqual([]);
    expect(response.statusCode).toBe(400);
    expect(message(response)).toBe('invalid timeout specified in the request URL - time: invalid duration "abc"');
  });

  test('authenticates before impersonation', async () => {
    const stage = new TestChain();
    stage.authenticate = () => undefined;
    const response = await stage.run({ headers: { 'Impersonate-Group': 'a' } });
    expect(response.statusCode).toBe(401);
    expect(message(response)).toBe('Unauthorized');
  });

  test('impersonates before the in-flight limits, which apply before authorization', async () => {
    const stage = new TestChain();
    let release = (): void => undefined;
    stage.handler = () =>
      new Promise((resolve) => {
        release = resolve;
      });
    const first = stage.start();
    stage.authorize = () => ({ decision: 'deny', reason: '' });
    const impersonating = await stage.run({ headers: { 'Impersonate-User': 'bob' } });
    expect(impersonating.statusCode).toBe(403);
    const waiting = stage.start();
    expect(waiting.response.writableEnded).toBe(false);
    stage.clock.advance(15_200);
    await waiting.running;
    const busy = waiting.response;
    expect(busy.statusCode).toBe(429);
    expect(busy.body).toBe('Too many requests, please try again later.\n');
    expect(busy.getHeader('retry-after')).toBe('1');
    const writing = await stage.run({ method: 'POST' });
    expect(writing.statusCode).toBe(403);
    const watching = await stage.run({ url: '/api/v1/pods?watch=1' });
    expect(watching.statusCode).toBe(403);
    stage.authenticate = () => MASTER;
    expect((await stage.run()).statusCode).toBe(403);
    release();
    await first.running;
    stage.authenticate = () => ALICE;
    expect((await stage.run()).statusCode).toBe(403);
  });

  test('refuses lists and watches while memory is short', async () => {
    const stage = new TestChain({ unavailableReason: (verb) => `no room for ${verb}es` });
    const watching = await stage.run({ url: '/api/v1/pods?watch=1' });
    expect([watching.statusCode, message(watching)]).toEqual([503, 'no room for watches']);
    expect((await stage.run({ url: '/api/v1/pods' })).statusCode).toBe(503);
    expect((await stage.run({ url: '/api/v1/namespaces/a/pods/b' })).statusCode).toBe(200);
    expect((await stage.run({ url: '/api/v1/namespaces/a/pods', method: 'DELETE' })).statusCode).toBe(200);
  });

  test('includes the reason in a 403', async () => {
    const stage = new TestChain();
    stage.authorize = () => ({ decision: 'no-opinion', reason: 'no <rule>' });
    const resource = await stage.run({ url: '/apis/apps/v1/namespaces/x/deployments/y/status' });
    expect(message(resource)).toBe(
      'deployments.apps "y" is forbidden: User "alice" cannot get resource "deployments/status" in API group "apps" in the namespace "x": no <rule>',
    );
    const other = await stage.run({ url: '/nope' });
    expect(message(other)).toBe('forbidden: User "alice" cannot get path "/nope": no <rule>');
    expect(other.getHeader('x-content-type-options')).toBe('nosniff');
  });

  test.each([
    ['a failing authenticator', new AuthenticationError('bad'), 'Unauthorized'],
    ['one that may give the reason', new AuthenticationError('expired', { exposeToClient: true }), 'expired'],
    ['a broken one', new TypeError('oops'), 'Unauthorized'],
  ])('returns 401 for %s', async (_name, error, text) => {
    const stage = new TestChain();
    stage.authenticate = () => {
      throw error;
    };
    expect(message(await stage.run())).toBe(text);
    stage.authenticate = () => Promise.reject(error);
    expect(message(await stage.run())).toBe(text);
  });

  test('returns a Status for an error of a handler, and the panic text for a defect', async () => {
    const stage = new TestChain();
    stage.handler = () => {
      throw newNotFound({ group: '', resource: 'pods' }, 'x');
    };
    expect(message(await stage.run())).toBe('pods "x" not found');
    stage.handler = () => Promise.reject(new RangeError('Maximum call stack size exceeded'));
    expect(message(await stage.run())).toBe('the request or the object is nested too deeply');
    stage.handler = () => Promise.reject(new TypeError('x is undefined'));
    const response = await stage.run();
    expect(response.statusCode).toBe(500);
    expect(response.body).toBe('This request caused apiserver to panic. Look in the logs for details.\n');
  });

  test('ends a request that times out, and releases its seat only when the handler returns', async () => {
    const stage = new TestChain();
    let release = (): void => undefined;
    stage.handler = () =>
      new Promise((resolve) => {
        release = resolve;
      });
    const { response, exchange, running } = stage.start({ url: '/api/v1/pods?timeout=2s' });
    const { signal } = exchange;
    stage.clock.advance(1900);
    expect(response.headersSent).toBe(false);
    stage.clock.advance(300);
    expect(response.statusCode).toBe(504);
    expect(response.getHeader('content-type')).toBe('text/plain; charset=utf-8');
    expect(JSON.parse(response.body)).toEqual({
      metadata: {},
      status: 'Failure',
      message: 'Timeout: request did not complete within the allotted timeout',
      reason: 'Timeout',
      details: {},
      code: 504,
    });
    expect(signal.aborted).toBe(true);
    const next = stage.start();
    stage.clock.advance(15_200);
    await next.running;
    expect(next.response.statusCode).toBe(429);
    release();
    await running;
  });

  test('aborts a started response at its deadline', () => {
    const stage = new TestChain();
    stage.handler = (exchange) => {
      exchange.response.end('part');
      return new Promise(() => undefined);
    };
    const { response } = stage.start();
    stage.clock.advance(60_200);
    expect(response.destroyed).toBe(true);
  });

  test('keeps the deadline until the client has received the response', async () => {
    const stage = new TestChain();
    const slow = await stage.run();
    stage.clock.advance(60_200);
    expect(slow.destroyed).toBe(true);
    const quick = await stage.run();
    quick.emit('close');
    stage.clock.advance(60_200);
    expect(quick.destroyed).toBe(false);
  });

  test('gives watches no deadline', () => {
    const stage = new TestChain();
    stage.handler = () => new Promise(() => undefined);
    const { response } = stage.start({ url: '/api/v1/pods?watch=true' });
    stage.clock.advance(3_600_000);
    expect(response.headersSent).toBe(false);
    expect(response.destroyed).toBe(false);
  });

  test('retires an HTTP/2 connection after one unauthenticated request', async () => {
    const stage = new TestChain();
    stage.authenticate = () => undefined;
    await stage.run({ http2: true });
    await stage.run({ http2: false });
    expect(stage.retired).toBe(1);
  });

  test('retires HTTP/2 connections by chance', async () => {
    const stage = new TestChain({ goawayChance: 0.02, random: () => 0.01 });
    await stage.run({ http2: true });
    await stage.run({ http2: false });
    expect(stage.retired).toBe(1);
  });

  test('sends 100 Continue only to authorized clients', async () => {
    const stage = new TestChain();
    const waiting = { method: 'POST', expectsContinue: true };
    expect((await stage.run(waiting)).continued).toBe(true);
    expect((await stage.run({ method: 'POST' })).continued).toBe(false);
    stage.authorize = () => ({ decision: 'deny', reason: '' });
    expect((await stage.run(waiting)).continued).toBe(false);
  });
});
