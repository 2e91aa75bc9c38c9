import { message, TestChain } from '../../../test/fakes/endpoints/handler-chain.js';

const never = (): Promise<void> => new Promise(() => undefined);

describe('the deadline of a request', () => {
  /** Name, query, and deadline in milliseconds. The server allows one minute. */
  const cases: readonly (readonly [string, string, number])[] = [
    ['the server’s', '', 60_000],
    ['what the client wants', '?timeout=2s', 2_000],
    ['with a fraction', '?timeout=1.5s', 1_500],
    ['no more than the server allows', '?timeout=2h', 60_000],
    ['zero is no wish', '?timeout=0', 60_000],
    ['nor is less', '?timeout=-5s', 60_000],
    ['nor nothing', '?timeout=', 60_000],
    ['of two wishes the first', '?timeout=3s&timeout=1s', 3_000],
    ['another parameter', '?timeoutSeconds=1', 60_000],
  ];
  test.each(cases)('%s', (_name, query, millis) => {
    const stage = new TestChain();
    stage.handler = never;
    const { response, exchange } = stage.start({ url: `/api/v1/pods${query}` });
    stage.clock.advance(millis - 1);
    expect([response.headersSent, exchange.timedOut]).toEqual([false, false]);
    // The timer wheel ticks ten times per second.
    stage.clock.advance(200);
    expect([response.statusCode, exchange.timedOut]).toEqual([504, true]);
  });

  test.each([
    ['5', 'time: missing unit in duration "5"'],
    ['abc', 'time: invalid duration "abc"'],
    ['5x', 'time: unknown unit "x" in duration "5x"'],
  ])('refuses the timeout %s', async (text, why) => {
    const response = await new TestChain().run({ url: `/api/v1/pods?timeout=${text}` });
    expect(response.statusCode).toBe(400);
    expect(message(response)).toBe(`invalid timeout specified in the request URL - ${why}`);
  });

  test('a watch has no deadline, and its timeout is not parsed', async () => {
    const stage = new TestChain();
    stage.handler = never;
    const { response } = stage.start({ url: '/api/v1/pods?watch=1&timeout=abc' });
    stage.clock.advance(7_200_000);
    expect([response.headersSent, response.destroyed]).toEqual([false, false]);
    const refused = await stage.run({ url: '/api/v1/pods?timeout=abc' });
    expect(refused.statusCode).toBe(400);
  });
});

describe('a request that ends', () => {
  test('at its deadline is counted, and later writes of the handler are dropped', async () => {
    const stage = new TestChain();
    let proceed: () => void = () => undefined;
    stage.handler = (exchange) =>
      new Promise((resolve) => {
        proceed = () => {
          exchange.response.end('too late');
          resolve();
        };
      });
    const { response, running, exchange } = stage.start();
    const { signal } = exchange;
    stage.clock.advance(60_200);
    expect(signal.aborted).toBe(true);
    const sent = response.body;
    proceed();
    await running;
    expect(response.body.startsWith(sent)).toBe(true);
    expect(response.statusCode).toBe(504);
    const text = await stage.registry.metrics();
    expect(text).toMatch(/apiserver_request_terminations_total\{verb="LIST",.*code="504"\} 1/);
    expect(text).not.toMatch(/apiserver_request_aborts_total\{/);
  });

  test('during its response is aborted, and counted as aborted', async () => {
    const stage = new TestChain();
    stage.handler = (exchange) => {
      exchange.response.writeHead(200);
      return never();
    };
    const { response } = stage.start();
    stage.clock.advance(60_200);
    expect([response.statusCode, response.destroyed]).toEqual([200, true]);
    expect(await stage.registry.metrics()).toMatch(/apiserver_request_aborts_total\{verb="LIST".*\} 1/);
  });

  test('while it waits for its authenticator is not authorized', async () => {
    const stage = new TestChain();
    let known: (value: undefined) => void = () => undefined;
    stage.authenticate = () => new Promise((resolve) => (known = resolve));
    const { response, running } = stage.start();
    stage.clock.advance(60_200);
    expect(response.statusCode).toBe(504);
    known(undefined);
    await running;
    expect(stage.log).toEqual(['authenticate']);
    expect(response.statusCode).toBe(504);
  });

  test('because the client disconnects aborts the work', () => {
    const stage = new TestChain();
    stage.handler = never;
    const { response, exchange } = stage.start();
    const { signal } = exchange;
    response.emit('close');
    expect(signal.aborted).toBe(true);
    stage.clock.advance(60_200);
    expect(exchange.timedOut).toBe(false);
  });
});
