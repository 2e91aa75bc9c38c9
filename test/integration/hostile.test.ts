import { connect } from 'node:tls';
import { Http1, treeOf } from './client.js';
import { configMap } from './objects.js';
import { ADMIN, NOBODY, serverForFile } from './server.js';

const server = serverForFile([]);
const http = (): Http1 => new Http1(server.current);
const PODS = '/api/v1/namespaces/default/pods';
const REVIEW = '/apis/authorization.k8s.io/v1/selfsubjectaccessreviews';
/** The time, in milliseconds, in which the server answers others on a busy machine. A quadratic takes longer at these sizes. */
const MOST_MILLIS = 3000;

/** Sends a head over HTTP/1.1 without credentials and returns the status of the answer. */
function statusOf(head: string): Promise<number> {
  const { port, ca } = server.current;
  return new Promise((resolve) => {
    const socket = connect({ port, host: '127.0.0.1', ca });
    let text = '';
    socket.setEncoding('utf8').on('data', (chunk: string) => {
      text += chunk;
      if (text.includes('\r\n')) socket.destroy();
    });
    socket.on('error', () => undefined);
    socket.on('close', () => resolve(Number(text.split(' ')[1] ?? 0)));
    socket.write(`${head}\r\n\r\n`);
  });
}

/** Runs an attack, and returns the longest time that `/livez` took meanwhile. */
async function stallDuring(attack: () => Promise<unknown>): Promise<number> {
  let over = false;
  let worst = 0;
  const prober = http();
  const probe = async (): Promise<void> => {
    while (!over) {
      const began = performance.now();
      await prober.send({ path: '/livez' });
      worst = Math.max(worst, performance.now() - began);
    }
  };
  const probing = probe();
  await attack();
  over = true;
  await probing;
  return worst;
}

const many = (count: number): string[] => Array.from({ length: count }, (_, i) => `n${i}`);

test.each<[string, string, number]>([
  [
    'a list of upgrades',
    `GET /livez HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\nConnection: ${','.repeat(500_000)}`,
    200,
  ],
  [
    'subprotocols',
    `GET /livez HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\nConnection: upgrade\r\nSec-WebSocket-Protocol: ${','.repeat(500_000)}`,
    200,
  ],
  ['media types', `GET /api HTTP/1.1\r\nHost: x\r\nAccept: ${','.repeat(900_000)}`, 403],
  ['headers', `GET /api HTTP/1.1\r\nHost: x\r\n${many(90_000).join(': a\r\n')}: a`, 431],
  [
    'impersonated extras',
    `GET /api HTTP/1.1\r\nHost: x\r\n${many(30_000)
      .map((name) => `Impersonate-Extra-${name}: a`)
      .join('\r\n')}`,
    431,
  ],
  ['parameters', `GET ${PODS}?${'a&'.repeat(500_000)} HTTP/1.1\r\nHost: x`, 414],
  ['segments', `GET /api/v1/${'a/'.repeat(100_000)} HTTP/1.1\r\nHost: x`, 403],
  ['escapes', `GET /api/v1/${'%ff'.repeat(80_000)} HTTP/1.1\r\nHost: x`, 403],
  ['bytes in a path', `GET /api/v1/${'a'.repeat(300_000)} HTTP/1.1\r\nHost: x`, 414],
  ['labels to select', `GET ${PODS}?labelSelector=${many(140_000).join(',')} HTTP/1.1\r\nHost: x`, 403],
  ['fields to select', `GET ${PODS}?fieldSelector=metadata.name=a${',a=b'.repeat(240_000)} HTTP/1.1\r\nHost: x`, 403],
])('without credentials: many %s', async (_name, head, status) => {
  let answer = 0;
  expect(await stallDuring(async () => (answer = await statusOf(head)))).toBeLessThan(MOST_MILLIS);
  expect(answer).toBe(status);
});

describe('bodies that only the main thread reads', () => {
  const spec = '"spec":{"resourceAttributes":{"verb":"get"}}';

  test.each([
    ['JSON', 'application/json', `{${spec},"metadata":{"annotations":{"a":"${'x'.repeat(70_000)}"}}}`, 65_536],
    ['YAML', 'application/yaml', `spec: {resourceAttributes: {verb: get}}\n${'#'.repeat(20_000)}`, 16_384],
    ['CBOR', 'application/cbor', '\xd9\xd9\xf7'.padEnd(30_000, '\x81'), 21_845],
  ])('%s: 413 beyond their limit', async (_name, type, body, limit) => {
    for (const path of [REVIEW, '/api/v1/namespaces/default/serviceaccounts/default/token']) {
      const answer = await http().send({ method: 'POST', path, body, headers: { 'content-type': type } });
      expect([answer.status, treeOf(answer)['message']]).toEqual([413, `Request entity too large: limit is ${limit}`]);
    }
  });

  test('a review of a user in a thousand groups is answered', async () => {
    const groups = many(1000).map((name) => `some-group-with-a-name-of-its-own-${name}`);
    const body = { spec: { user: 'a', groups, resourceAttributes: { verb: 'get', resource: 'pods' } } };
    const path = '/apis/authorization.k8s.io/v1/subjectaccessreviews';
    expect((await http().send({ method: 'POST', path, body: JSON.stringify(body) })).status).toBe(201);
  });

  test('line ends before a colon', async () => {
    let status = 0;
    const stall = await stallDuring(async () => {
      const body = `{${'\n'.repeat(60_000)}`;
      status = (await http().send({ method: 'POST', path: REVIEW, body, token: NOBODY })).status;
    });
    expect(stall).toBeLessThan(MOST_MILLIS);
    expect(status).toBe(400);
  });
});

test('a selector that is too long is refused', async () => {
  for (const name of ['labelSelector', 'fieldSelector']) {
    const answer = await http().send({ path: `${PODS}?${name}=${'a=b,'.repeat(20_000)}a=b` });
    expect([answer.status, treeOf(answer)['message']]).toEqual([
      400,
      'the selector is too long: it may have at most 65536 characters',
    ]);
  }
});

test('20,000 owner references', async () => {
  const ownerReferences = many(20_000).map((name) => ({ apiVersion: 'v1', kind: 'A', name, uid: 'u' }));
  const object = { ...configMap('owned'), metadata: { name: 'owned', ownerReferences } };
  let status = 0;
  const stall = await stallDuring(async () => {
    status = (
      await http().send({ method: 'POST', path: '/api/v1/namespaces/default/configmaps', body: object, token: ADMIN })
    ).status;
  });
  expect(stall).toBeLessThan(MOST_MILLIS);
  expect([201, 413]).toContain(status);
});

test('a field manager of 300 KB', async () => {
  let status = 0;
  const stall = await stallDuring(async () => {
    const path = `/api/v1/namespaces/default/configmaps?fieldManager=${'%09'.repeat(300_000)}`;
    status = (await http().send({ method: 'POST', path, body: configMap('managed') })).status;
  });
  expect(stall).toBeLessThan(MOST_MILLIS);
  expect(status).toBe(422);
});
