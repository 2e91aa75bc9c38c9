import { connect, type TLSSocket } from 'node:tls';
import { type Answer, Http1, Http2, treeOf } from './client.js';
import { configMap, define } from './objects.js';
import { ADMIN, eventually, scratchFolder, serverForFile, TestServer } from './server.js';

const server = serverForFile(['--max-request-body-bytes', '100000']);
const BASE = '/api/v1/namespaces/default/configmaps';
const http = (): Http1 => new Http1(server.current);

beforeAll(() => define(http(), 'input.example.com', 'gadgets', 'Gadget'));

/** A raw HTTP/1.1 connection, for misbehaving clients. */
function raw(
  head: string,
  { port, ca }: TestServer = server.current,
): { socket: TLSSocket; received: () => string; closed: Promise<void> } {
  const socket = connect({ port, host: '127.0.0.1', ca });
  let text = '';
  socket.setEncoding('utf8').on('data', (chunk: string) => (text += chunk));
  socket.on('error', () => undefined);
  const closed = new Promise<void>((resolve) => socket.on('close', () => resolve()));
  socket.write(head);
  return { socket, received: () => text, closed };
}

describe('bodies that are too large are rejected with 413', () => {
  const large = configMap('large', { a: 'x'.repeat(100_000) });

  test.each(['POST', 'PUT', 'PATCH'])('%s with Content-Length', async (method) => {
    const path = method === 'POST' ? BASE : `${BASE}/large`;
    const headers: Record<string, string> =
      method === 'PATCH' ? { 'content-type': 'application/merge-patch+json' } : {};
    const answer = await http().send({ method, path, body: large, headers });
    expect([answer.status, treeOf(answer)['reason']]).toEqual([413, 'RequestEntityTooLarge']);
    expect(treeOf(answer)['message']).toBe('Request entity too large: limit is 100000');
  });

  test('chunked, without a Content-Length', async () => {
    const head = `POST ${BASE} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${ADMIN}\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n`;
    const { socket, received } = raw(head);
    const chunk = 'x'.repeat(20_000);
    for (let i = 0; i < 8; i++) socket.write(`${chunk.length.toString(16)}\r\n${chunk}\r\n`);
    socket.write('0\r\n\r\n');
    await expect(new Promise((resolve) => socket.once('data', () => resolve(received())))).resolves.toMatch(
      /^HTTP\/1\.1 413 /,
    );
    socket.destroy();
  });

  test('on HTTP/2, and the connection stays usable', async () => {
    const client = new Http2(server.current);
    expect((await client.send({ method: 'POST', path: BASE, body: large })).status).toBe(413);
    expect((await client.send({ path: '/version' })).status).toBe(200);
  });

  test('accepts a body that just fits', async () => {
    const body = JSON.stringify(configMap('fits'));
    expect((await http().post(BASE, body.padEnd(100_000))).status).toBe(201);
  });
});

describe('a body with very many members, on a server with default limits', () => {
  const folder = scratchFolder(async () => large?.stop('SIGKILL'));
  let large: TestServer | undefined;
  const ITEMS = 600_000;

  beforeAll(async () => {
    large = await TestServer.start(folder);
  });

  const post = (body: string, type: string): Promise<Answer> =>
    new Http1(large ?? server.current).send({
      method: 'POST',
      path: `${BASE}?dryRun=All&fieldValidation=Ignore`,
      body: Buffer.from(body),
      headers: { 'content-type': type },
    });

  test.each([
    ['YAML, a line for each', `apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\nx:\n${'- a\n'.repeat(ITEMS)}`],
    ['YAML, all in one line', `{apiVersion: v1, kind: ConfigMap, metadata: {name: a}, x: [${'a,'.repeat(2 * ITEMS)}]}`],
  ])('%s: 413, and the message suggests an alternative', async (_name, body) => {
    const answer = await post(body, 'application/yaml');
    expect([answer.status, treeOf(answer)['reason']]).toEqual([413, 'RequestEntityTooLarge']);
    expect(treeOf(answer)['message']).toBe(
      'Request entity too large: the YAML has too many members to be decoded; JSON may be as large as the limit allows',
    );
  });

  test('JSON: accepted', async () => {
    const body = JSON.stringify({ ...configMap('a'), x: Array.from({ length: ITEMS }, () => 'a') });
    expect((await post(body, 'application/json')).status).toBe(201);
  });
});

describe('unusual targets and methods', () => {
  const HEAD = `Host: x\r\nAuthorization: Bearer ${ADMIN}\r\nConnection: close\r\n\r\n`;

  test.each([
    ['a collection', BASE, 405, /"reason":"MethodNotAllowed"/],
    ['an empty namespace', '/api/v1/namespaces//configmaps', 405, /"reason":"MethodNotAllowed"/],
    ['a path that answers every method', '/healthz', 200, /ok$/],
    ['an authority', 'example.com:443', 404, /404 page not found/],
  ])('CONNECT to %s', async (_name, target, status, text) => {
    const { received, closed } = raw(`CONNECT ${target} HTTP/1.1\r\n${HEAD}`);
    await closed;
    expect(received()).toMatch(new RegExp(`^HTTP/1.1 ${String(status)} `));
    expect(received()).toMatch(text);
  });

  test('CONNECT on HTTP/2', async () => {
    const { session } = new Http2(server.current);
    const stream = session.request({
      ':method': 'CONNECT',
      ':authority': 'example.com:443',
      authorization: `Bearer ${ADMIN}`,
    });
    const status = await new Promise((resolve, reject) => {
      stream.on('response', (head) => {
        resolve(head[':status']);
      });
      stream.on('error', reject);
    });
    expect(status).toBe(404);
  });

  test.each(['OPTIONS', 'TRACE'])('%s in an empty namespace', async (method) => {
    const answer = await http().send({ method, path: '/api/v1/namespaces//configmaps' });
    expect([answer.status, treeOf(answer)['reason']]).toEqual([405, 'MethodNotAllowed']);
  });

  test('unescaped bytes in a path are read as UTF-8 on HTTP/2', async () => {
    const path = Buffer.from(`${BASE}?limit=é€`).toString('latin1');
    const answer = await new Http2(server.current).send({ path });
    expect([answer.status, treeOf(answer)['message']]).toEqual([400, 'strconv.ParseInt: parsing "é€": invalid syntax']);
  });
});

describe('malformed bodies', () => {
  const post = (
    body: string | Buffer,
    type = 'application/json',
    path = BASE,
  ): Promise<{ status: number; text: string }> =>
    http().send({ method: 'POST', path, body, headers: { 'content-type': type } });

  test.each([
    ['half an object', '{"apiVersion":"v1","kind":"ConfigMap"', 'application/json', 400],
    ['a list instead of an object', '[1]', 'application/json', 400],
    ['a number', '7', 'application/json', 400],
    ['nothing at all', '', 'application/json', 400],
    ['text that is not UTF-8', Buffer.from([0x7b, 0xff, 0x7d]), 'application/json', 400],
    ['YAML with tabs', 'a:\n\t- b', 'application/yaml', 400],
    ['invalid protobuf', 'k8s\0garbage', 'application/vnd.kubernetes.protobuf', 400],
    ['another kind', '{"apiVersion":"v1","kind":"Secret","metadata":{"name":"x"}}', 'application/json', 400],
    ['another version', '{"apiVersion":"v9","kind":"ConfigMap","metadata":{"name":"x"}}', 'application/json', 400],
    ['a wrong type', '{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":1}}', 'application/json', 400],
    ['an unknown media type', '<a/>', 'application/xml', 415],
    ['an invalid name', JSON.stringify(configMap('Not_A_Name')), 'application/json', 422],
    ['no name', JSON.stringify(configMap('')), 'application/json', 422],
    [
      'another namespace',
      '{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"x","namespace":"other"}}',
      'application/json',
      400,
    ],
  ])('%s', async (_name, body, type, status) => {
    const answer = await post(body, type);
    expect([answer.status, treeOf(answer)['kind'], treeOf(answer)['status']]).toEqual([status, 'Status', 'Failure']);
  });

  const gadget = (spec: object, more: object = {}): string =>
    JSON.stringify({ apiVersion: 'input.example.com/v1', kind: 'Gadget', metadata: { name: 'g' }, spec, ...more });
  const GADGETS = '/apis/input.example.com/v1/namespaces/default/gadgets';

  test.each([
    [
      'a wrong type',
      gadget({ replicas: 'x' }),
      422,
      /spec\.replicas: Invalid value: "string": spec\.replicas in body must be of type integer: "string"/,
    ],
    [
      'a value outside the list',
      gadget({ size: 'huge' }),
      422,
      /spec\.size: Unsupported value: "huge": supported values: "small", "large"/,
    ],
    [
      'a number below the minimum',
      gadget({ replicas: -1 }),
      422,
      /spec\.replicas in body should be greater than or equal to 0/,
    ],
    [
      'half an object',
      '{"apiVersion":',
      400,
      /^the object provided is unrecognized \(must be of type Gadget\): couldn't get version\/kind; json parse error: unexpected end of JSON input/,
    ],
  ])('a custom resource: %s', async (_name, body, status, message) => {
    const answer = await post(body, 'application/json', GADGETS);
    expect([answer.status, treeOf(answer)['message']]).toEqual([status, expect.stringMatching(message)]);
  });

  test('unknown fields are rejected, warned about, or dropped', async () => {
    const body = gadget({ colour: 'red' });
    const query = (mode: string): string => `${GADGETS}?dryRun=All&fieldValidation=${mode}`;
    const strict = await post(body, 'application/json', query('Strict'));
    expect([strict.status, treeOf(strict)['message']]).toEqual([
      400,
      expect.stringContaining('unknown field "spec.colour"'),
    ]);
    const warn = await http().post(query('Warn'), body);
    expect([warn.status, warn.headers['warning']]).toEqual([201, '299 - "unknown field \\"spec.colour\\""']);
    const ignore = await http().post(query('Ignore'), body);
    expect([ignore.status, ignore.headers['warning'], treeOf(ignore)['spec']]).toEqual([201, undefined, {}]);
  });

  test('deep nesting and a key like __proto__ do no harm', async () => {
    const deep = await post(`${'{"a":'.repeat(15_000)}1${'}'.repeat(15_000)}`);
    expect(deep.status).toBe(400);
    const proto = await post(
      '{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"proto"},"data":{"__proto__":"x"}}',
    );
    expect([proto.status, proto.text]).toEqual([201, expect.stringContaining('"data":{"__proto__":"x"}')]);
    expect((await http().get('/readyz')).text).toBe('ok');
  });
});

describe('misbehaving clients', () => {
  const folder = scratchFolder(async () => running?.stop('SIGKILL'));
  let running: TestServer | undefined;
  const hasty = (): TestServer => {
    if (running === undefined) throw new Error('the server has not started');
    return running;
  };
  const HEAD = `Host: x\r\nAuthorization: Bearer ${ADMIN}\r\n`;

  beforeAll(async () => {
    // The objects to list are created under the default request timeout.
    running = await TestServer.start(folder);
    const text = 'x'.repeat(90_000);
    for (let i = 0; i < 100; i += 4) {
      const made = [0, 1, 2, 3].map((j) => new Http1(hasty()).post(BASE, configMap(`bulk-${i + j}`, { text })));
      expect((await Promise.all(made)).map(({ status }) => status)).toEqual([201, 201, 201, 201]);
    }
    await running.stop();
    running = await TestServer.start(folder, ['--request-timeout', '5s']);
  });

  test('a body that does not arrive is cut off at the request timeout', async () => {
    const { socket, received, closed } = raw(
      `POST ${BASE} HTTP/1.1\r\n${HEAD}Content-Type: application/json\r\nContent-Length: 50000\r\n\r\n{`,
      hasty(),
    );
    await Promise.race([closed, new Promise((resolve) => socket.once('data', resolve))]);
    expect(received()).toMatch(/^HTTP\/1\.1 504 |^$/);
    socket.destroy();
  });

  test('a client that does not read the response is cut off', async () => {
    const cutOff = async (): Promise<boolean> =>
      /^apiserver_request_aborts_total\{.*resource="configmaps".*\} [1-9]/m.test(
        (await new Http1(hasty()).get('/metrics')).text,
      );
    expect(await cutOff()).toBe(false);
    const { socket, closed } = raw(`GET ${BASE} HTTP/1.1\r\n${HEAD}\r\n`, hasty());
    socket.pause();
    // The client reads nothing of the response, so it sees the end only after it resumes reading.
    await eventually('the answer is cut off', async () => ((await cutOff()) ? true : undefined));
    socket.resume();
    await closed;
    expect(socket.bytesRead).toBeLessThan(9_000_000);
    expect((await new Http1(hasty()).get('/readyz')).text).toBe('ok');
  });

  test('a client that disconnects in the middle does not affect other clients', async () => {
    for (let i = 0; i < 20; i++) {
      const { socket } = raw(`GET ${BASE} HTTP/1.1\r\n${HEAD}\r\n`, hasty());
      socket.once('data', () => socket.destroy());
    }
    const client = new Http2(hasty());
    for (let i = 0; i < 20; i++)
      client
        .stream({ path: BASE })
        .on('error', () => undefined)
        .close(8);
    expect((await client.send({ path: '/readyz' })).text).toBe('ok');
    expect(hasty().log).not.toContain('"level":"error"');
  });

  test('input that is not HTTP', async () => {
    const { closed, received } = raw('this is not HTTP\r\n\r\n');
    await closed;
    expect(received()).toMatch(/^(HTTP\/1\.1 400 |$)/);
  });
});
