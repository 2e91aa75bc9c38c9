import { connect } from 'node:tls';
import { Http1, WatchReader } from './client.js';
import { ADMIN, eventually, NOBODY, serverForFile } from './server.js';

const server = serverForFile([
  '--max-requests-inflight',
  '2',
  '--max-mutating-requests-inflight',
  '2',
  '--authorization-mode',
  'AlwaysAllow',
  // No seat becomes free, even on a busy machine.
  '--request-timeout',
  '1h',
]);
const BASE = '/api/v1/namespaces/default/configmaps';

/** Occupies a seat with a write whose body never ends, until it is closed. */
function occupy(token: string): { close: () => void } {
  const { port, ca } = server.current;
  const socket = connect({ port, host: '127.0.0.1', ca });
  socket.on('error', () => undefined);
  socket.write(
    `POST ${BASE} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${token}\r\nContent-Type: application/json\r\nContent-Length: 1000\r\n\r\n{`,
  );
  return { close: () => socket.destroy() };
}

test('writes beyond the limit wait, then get 429; reads, watches, and system:masters are never limited', async () => {
  const http = new Http1(server.current);
  const send = (method: string, token = NOBODY): Promise<{ status: number; text: string; headers: object }> =>
    http.send({ method, path: BASE, token, ...(method === 'POST' ? { body: '{}' } : {}) });
  const watches = await Promise.all(
    Array.from({ length: 5 }, async () => new WatchReader(await http.open({ path: `${BASE}?watch=1`, token: NOBODY }))),
  );
  // Two writes have seats, and fifty wait in the queue of their user.
  const held = Array.from({ length: 52 }, () => occupy(NOBODY));
  await eventually('the queue is full', async () => {
    const { text } = await http.send({ path: '/metrics' });
    const full =
      /^apiserver_flowcontrol_current_inqueue_requests\{priority_level="mutating",flow_schema="users"\} 50$/m;
    return full.test(text) ? true : undefined;
  });
  const refused = await send('POST');
  expect(refused.status).toBe(429);
  expect(refused.text).toBe('Too many requests, please try again later.\n');
  expect(refused.headers).toMatchObject({ 'retry-after': '1', 'content-type': 'text/plain; charset=utf-8' });
  expect((await send('GET')).status).toBe(200);
  expect((await send('POST', ADMIN)).status).toBe(422);
  const metrics = await eventually('only those that are held are in flight', async () => {
    const { text } = await http.send({ path: '/metrics' });
    return /^apiserver_current_inflight_requests\{request_kind="mutating"\} 2$/m.test(text) ? text : undefined;
  });
  expect(metrics).toMatch(/^apiserver_dropped_requests_total\{request_kind="mutating"\} \d+$/m);
  expect(metrics).toMatch(/^apiserver_request_terminations_total\{.*resource="".*code="429"\} \d+$/m);
  expect(metrics).toMatch(/^apiserver_flowcontrol_rejected_requests_total\{.*reason="queue-full"\} 1$/m);
  for (const one of held) one.close();
  await eventually('places are free again', async () => ((await send('POST')).status === 422 ? true : undefined));
  expect(watches.map(({ ended }) => ended)).toEqual(Array<boolean>(5).fill(false));
});

test('AlwaysAllow still requires credentials', async () => {
  const http = new Http1(server.current);
  expect((await http.send({ path: BASE, token: '' })).status).toBe(401);
  expect((await http.send({ path: BASE, token: NOBODY })).status).toBe(200);
});
