import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { Http1, Http2, WatchReader } from './client.js';
import { configMap } from './objects.js';
import { ADMIN, eventually, scratchFolder, TestServer } from './server.js';

const folder = scratchFolder();
let next = 0;
const start = (...flags: string[]): Promise<TestServer> => {
  const path = join(folder, String(next++));
  mkdirSync(path);
  return TestServer.start(path, flags);
};
const BASE = '/api/v1/namespaces/default/configmaps';

test.each(['SIGTERM', 'SIGINT'] as const)('%s ends open watches cleanly and exits with 0', async (signal) => {
  // The server waits this long for requests that do not end.
  const server = await start('--request-timeout', '10m');
  const one = new WatchReader(await new Http1(server).open({ path: `${BASE}?watch=1` }));
  const http2 = new Http2(server);
  const stream = http2.stream({ path: `${BASE}?watch=1` });
  const failures: unknown[] = [];
  stream.on('error', (error) => failures.push(error));
  const two = new WatchReader(stream);
  await new Http1(server).post(BASE, configMap('seen'));
  const seen = (reader: WatchReader): boolean => JSON.stringify(reader.events).includes('"name":"seen"');
  await Promise.all([one.until(seen), two.until(seen)]);
  const { code, stderr } = await server.stop(signal);
  expect([code, stderr]).toEqual([0, '']);
  expect([one.ended, two.ended, failures]).toEqual([true, true, []]);
});

test('requests in flight are finished, and every acknowledged write is kept', async () => {
  const server = await start();
  const http = new Http1(server, 32);
  const acknowledged = new Set<string>();
  let refused = 0;
  const write = async (i: number): Promise<void> => {
    try {
      const { status } = await http.post(BASE, configMap(`w-${i}`));
      if (status === 201) acknowledged.add(`w-${i}`);
      else refused++;
    } catch {
      refused++;
    }
  };
  const writers = Array.from({ length: 400 }, (_, i) => write(i));
  await eventually('a few writes are done', () => Promise.resolve(acknowledged.size > 20 ? true : undefined));
  const exit = await server.stop();
  await Promise.all(writers);
  expect([exit.code, acknowledged.size + refused]).toEqual([0, 400]);
  const again = await TestServer.start(join(folder, String(next - 1)));
  const list = await new Http1(again).get(BASE);
  for (const name of acknowledged) expect(list.text).toContain(`"name":"${name}"`);
  await again.stop();
});

test('is not ready while it is shutting down but still serves', async () => {
  // Longer than the checks take. The second signal ends the server.
  const server = await start('--shutdown-delay-duration', '1h');
  const http = new Http1(server);
  expect((await http.get('/readyz')).status).toBe(200);
  server.signal('SIGTERM');
  const answer = await eventually('readyz fails', async () => {
    const found = await http.get('/readyz');
    return found.status === 500 ? found : undefined;
  });
  expect(answer.text).toContain('[-]shutdown failed: reason withheld');
  expect((await http.get('/livez')).text).toBe('ok');
  expect((await http.get('/api/v1/namespaces/default')).status).toBe(200);
  // A second signal does not wait.
  expect((await server.stop('SIGTERM')).code).toBe(1);
});

test('exits by itself after the delay', async () => {
  const server = await start('--shutdown-delay-duration', '1s');
  const begun = performance.now();
  expect((await server.stop()).code).toBe(0);
  expect(performance.now() - begun).toBeGreaterThan(900);
});

test('a request that is still being sent when the server stops is answered', async () => {
  const server = await start();
  const client = new Http2(server);
  const body = Buffer.from(JSON.stringify(configMap('late')));
  const headers = {
    ':method': 'POST',
    ':path': BASE,
    authorization: `Bearer ${ADMIN}`,
    'content-type': 'application/json',
  };
  const stream = client.session.request(headers);
  const status = new Promise<unknown>((resolve, reject) => {
    stream.on('response', (head) => resolve(head[':status']));
    stream.on('error', reject);
  });
  stream.resume();
  stream.write(body.subarray(0, 10));
  // Another response on the same connection proves that the first part has arrived.
  await client.send({ path: '/version' });
  server.signal('SIGTERM');
  await eventually('new connections are refused', () =>
    new Http1(server).get('/version').then(
      () => undefined,
      () => true as const,
    ),
  );
  stream.end(body.subarray(10));
  expect(await status).toBe(201);
  expect((await server.exited).code).toBe(0);
});
