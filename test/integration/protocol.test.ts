import { constants } from 'node:http2';
import { connect } from 'node:tls';
import { digList, Http1, Http2, treeOf } from './client.js';
import { configMap } from './objects.js';
import { ADMIN, NOBODY, serverForFile } from './server.js';

const server = serverForFile();
const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

function negotiated(protocols: string[]): Promise<string | false | null> {
  return new Promise((resolve, reject) => {
    const { port, ca } = server.current;
    const socket = connect({ port, host: '127.0.0.1', ca, ALPNProtocols: protocols }, () => {
      resolve(socket.alpnProtocol);
      socket.destroy();
    });
    socket.on('error', reject);
  });
}

describe('TLS', () => {
  test.each([
    ['HTTP/2 where the client prefers it', ['h2', 'http/1.1'], 'h2'],
    ['HTTP/1.1 where it knows nothing else', ['http/1.1'], 'http/1.1'],
  ])('%s', async (_name, offered, chosen) => {
    expect(await negotiated(offered)).toBe(chosen);
  });

  test('TLS 1.1 is refused', async () => {
    const { port, ca } = server.current;
    const failure = await new Promise<Error>((resolve, reject) => {
      const options = { port, host: '127.0.0.1', ca, minVersion: 'TLSv1.1', maxVersion: 'TLSv1.1' } as const;
      const socket = connect({ ...options, ciphers: 'DEFAULT@SECLEVEL=0' }, () => {
        reject(new Error('the handshake went through'));
      });
      socket.on('error', resolve);
    });
    expect(failure.message).toMatch(/protocol version|SSL|TLS/);
  });
});

describe.each(['HTTP/1.1', 'HTTP/2'])('%s', (protocol) => {
  const client = (): Http1 | Http2 => (protocol === 'HTTP/2' ? new Http2(server.current) : new Http1(server.current));

  test('creates, reads, updates, and deletes an object', async () => {
    const http = client();
    const name = protocol === 'HTTP/2' ? 'two' : 'one';
    const base = '/api/v1/namespaces/default/configmaps';
    const made = await http.send({ method: 'POST', path: base, body: configMap(name, { a: '1' }) });
    expect(made.status).toBe(201);
    expect(made.headers['content-type']).toBe('application/json');
    const read = await http.send({ path: `${base}/${name}` });
    expect(treeOf(read)).toEqual(treeOf(made));
    const headers = { 'content-type': 'application/merge-patch+json' };
    const patched = await http.send({ method: 'PATCH', path: `${base}/${name}`, body: { data: { b: '2' } }, headers });
    expect(treeOf(patched)['data']).toEqual({ a: '1', b: '2' });
    const gone = await http.send({ method: 'DELETE', path: `${base}/${name}` });
    expect([gone.status, treeOf(gone)['status']]).toEqual([200, 'Success']);
    expect((await http.send({ path: `${base}/${name}` })).status).toBe(404);
  });

  test('every response has an audit ID: the one the client sent, if any', async () => {
    const http = client();
    const own = await http.send({ path: '/version' });
    expect(own.headers['audit-id']).toMatch(UUID);
    const again = await http.send({ path: '/version' });
    expect(again.headers['audit-id']).not.toBe(own.headers['audit-id']);
    const given = await http.send({ path: '/nowhere', headers: { 'audit-id': 'from-the-client' } });
    expect([given.status, given.headers['audit-id']]).toEqual([404, 'from-the-client']);
    const refused = await http.send({ path: '/api/v1/secrets', token: 'wrong' });
    expect([refused.status, typeof refused.headers['audit-id']]).toEqual([401, 'string']);
  });

  test('HEAD returns headers and no body; resources do not support it', async () => {
    const health = await client().send({ method: 'HEAD', path: '/readyz' });
    expect([health.status, health.text]).toEqual([200, '']);
    const head = await client().send({ method: 'HEAD', path: '/api/v1/namespaces/default' });
    expect([head.status, head.text, head.headers['content-type']]).toEqual([405, '', 'application/json']);
  });
});

describe('request headers', () => {
  const many = (count: number, size: number): Record<string, string> =>
    Object.fromEntries(Array.from({ length: count }, (_, i) => [`x-header-${i}`, '~'.repeat(size)]));
  const token = (size: number): Record<string, string> => ({ authorization: `Bearer ${'x'.repeat(size)}` });

  test.each([
    ['a header of 200 KB', 200, many(1, 200_000)],
    ['20 headers of 50 KB', 200, many(20, 50_000)],
    ['4,000 headers', 200, many(4_000, 1)],
    ['5,000 headers', 431, many(5_000, 1)],
    ['a token of 200 KB', 401, token(200_000)],
    ['a token of 1.1 MB', 431, token(1_100_000)],
    ['25 headers of 50 KB', 431, many(25, 50_000)],
  ])('HTTP/1.1: %s: %i', async (_name, status, headers) => {
    expect((await new Http1(server.current).send({ path: '/version', headers })).status).toBe(status);
  });

  test.each([
    ['a header of 200 KB', 200, many(1, 200_000)],
    ['20 headers of 50 KB', 200, many(20, 50_000)],
    ['4,000 headers', 200, many(4_000, 1)],
    ['a token of 200 KB', 401, token(200_000)],
    ['a token of 1 MB', 401, token(1_040_000)],
  ])('HTTP/2: %s: %i', async (_name, status, headers) => {
    expect((await new Http2(server.current).send({ path: '/version', headers })).status).toBe(status);
  });

  test.each([
    ['a token of 1.1 MB', token(1_100_000)],
    ['25 headers of 50 KB', many(25, 50_000)],
    ['5,000 headers', many(5_000, 1)],
    ['40,000 headers', many(40_000, 1)],
  ])('HTTP/2: %s: 431, and the connection stays usable', async (_name, headers) => {
    const client = new Http2(server.current);
    expect((await client.send({ path: '/version', headers })).status).toBe(431);
    expect((await client.send({ path: '/version' })).status).toBe(200);
  });

  // Both sides share the HPACK state, so a side that skips a header block must end the connection.
  test('HTTP/2: endless headers end their connection, and no other', async () => {
    const other = new Http2(server.current);
    expect((await other.send({ path: '/version' })).status).toBe(200);
    const client = new Http2(server.current);
    const code = new Promise((resolve) => client.session.on('goaway', resolve));
    client.stream({ path: '/version', headers: token(1_900_000) }).on('error', () => undefined);
    expect(await code).toBe(constants.NGHTTP2_ENHANCE_YOUR_CALM);
    expect((await other.send({ path: '/version' })).status).toBe(200);
  });
});

describe('health', () => {
  const get = (path: string, token = ''): Promise<{ status: number; text: string }> =>
    new Http1(server.current).send({ path, token });

  test.each(['/livez', '/readyz', '/healthz'])('%s is open to everyone', async (path) => {
    const { status, text } = await get(path);
    expect([status, text]).toEqual([200, 'ok']);
  });

  test.each(['livez', 'readyz', 'healthz'])('%s?verbose lists the checks', async (endpoint) => {
    const { text } = await get(`/${endpoint}?verbose`);
    const lines = text.trimEnd().split('\n');
    expect(lines[0]).toBe('[+]ping ok');
    expect(lines).toContain('[+]etcd ok');
    expect(lines.at(-1)).toBe(`${endpoint} check passed`);
    expect(lines.includes('[+]shutdown ok')).toBe(endpoint === 'readyz');
  });

  test('a check can be excluded, and an unknown one causes a warning', async () => {
    const { text } = await get('/readyz?verbose&exclude=etcd&exclude=nothing');
    expect(text).toContain('[+]etcd excluded: ok\n');
    expect(text).toContain('warn: some health checks cannot be excluded: no matches for "nothing"\n');
  });

  test('returns a single check', async () => {
    expect(await get('/readyz/etcd', ADMIN)).toMatchObject({ status: 200, text: 'ok' });
    expect((await get('/readyz/etcd')).status).toBe(403);
    expect((await get('/readyz/nothing', ADMIN)).status).toBe(404);
  });
});

describe('public endpoints', () => {
  test('/version requires no credentials', async () => {
    const answer = await new Http1(server.current).send({ path: '/version', token: '' });
    expect([answer.status, treeOf(answer)['major'], treeOf(answer)['minor']]).toEqual([200, '1', '37']);
  });

  test('/metrics requires credentials', async () => {
    const http = new Http1(server.current);
    const statuses = ['', NOBODY, ADMIN].map(async (token) => (await http.send({ path: '/metrics', token })).status);
    expect(await Promise.all(statuses)).toEqual([403, 403, 200]);
  });

  test('the index lists the served paths', async () => {
    const paths = digList(treeOf(await new Http1(server.current).get('/')), 'paths').map(String);
    const expected = [
      '/api',
      '/api/v1',
      '/apis',
      '/apis/apiextensions.k8s.io/v1',
      '/livez/ping',
      '/metrics',
      '/version',
    ];
    expect(paths).toEqual(expect.arrayContaining(expected));
    expect(paths).toEqual([...paths].sort());
  });
});

/** Sends the parts unchanged, one after the other, and returns everything received until the connection ends. */
function sendRaw(...parts: string[]): Promise<string> {
  return new Promise((resolve, reject) => {
    const { port, ca } = server.current;
    let answer = '';
    const socket = connect({ port, host: '127.0.0.1', ca, ALPNProtocols: ['http/1.1'] }, () => {
      const [first = '', ...rest] = parts;
      socket.write(first, 'latin1', () => {
        for (const part of rest) socket.write(part, 'latin1');
      });
    });
    socket.on('data', (bytes: Buffer) => (answer += bytes.toString('utf8')));
    socket.on('end', () => {
      resolve(answer);
    });
    socket.on('error', reject);
  });
}

/** The answers are those of kube-apiserver. */
describe('requests that node:http does not parse', () => {
  const head = (line: string, more = ''): string =>
    `${line} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${ADMIN}\r\nConnection: close\r\n${more}\r\n`;
  const maps = '/api/v1/namespaces/default/configmaps';

  test.each([
    [
      'an unknown method',
      head(`FOO ${maps}`),
      405,
      '"the server does not allow this method on the requested resource"',
    ],
    ['one in lower case', head('get /readyz'), 200, 'ok'],
    ['an unknown method and path', head('FOO /nowhere'), 404, '404 page not found'],
    ['no method at all', head('F@O /readyz'), 400, '400 Bad Request'],
    ['UTF-8 in the path', head(`GET ${maps}/\xc3\xa9`), 404, '"configmaps \\"\u00e9\\" not found"'],
    ['other bytes in the path', head(`GET ${maps}/\xff`), 404, '"configmaps \\"\\\\xff\\" not found"'],
    ['an absolute target', head('GET http://elsewhere/nowhere'), 404, '404 page not found'],
    ['a host alone', head('GET https://elsewhere'), 404, '404 page not found'],
    ['a star', head('GET *'), 404, '404 page not found'],
    ['what the server can do', head('OPTIONS *'), 200, 'Content-Length: 0'],
    ['an escaped letter', head('GET /%72eadyz'), 200, 'ok'],
    ['an escape that is not UTF-8', head('GET /api/%ff'), 404, '"the server could not find the requested resource"'],
    ['another version', head('GET /readyz').replace('HTTP/1.1', 'HTTP/2.0'), 505, '505 HTTP Version Not Supported'],
  ])('%s', async (_, request, status, text) => {
    const answer = await sendRaw(request);
    expect(answer.slice(0, 12)).toBe(`HTTP/1.1 ${String(status)}`);
    expect(answer).toContain(text);
  });

  test('a body that arrives after its headers', async () => {
    const body = JSON.stringify(configMap('reread', { a: '1' }));
    const length = `Content-Type: application/json\r\nContent-Length: ${String(body.length)}\r\n`;
    const parts = [head(`POST ${maps}?dryRun=All&x=\xc3\xa9`, length), body.slice(0, 20), body.slice(20)];
    const answer = await sendRaw(...parts);
    expect(answer).toContain('HTTP/1.1 201 Created');
    expect(answer).toContain('"name":"reread"');
  });
});

describe('errors', () => {
  test.each([
    ['an unknown path', '/nowhere', 404],
    ['an unknown version of a group', '/apis/apiextensions.k8s.io/v9/customresourcedefinitions', 404],
    ['a broken escape', '/api/v1/namespaces/%zz', 400],
    ['a bad label selector', '/api/v1/configmaps?labelSelector=a%3D%3D%3Db', 400],
    ['a bad field selector', '/api/v1/configmaps?fieldSelector=spec.x%3Db', 400],
    ['a bad limit', '/api/v1/configmaps?limit=x', 400],
    ['a bad resourceVersion', '/api/v1/configmaps?resourceVersion=x', 400],
    ['a bad continue token', '/api/v1/configmaps?limit=1&continue=x', 400],
    ['a bad timeout', '/api/v1/configmaps?timeout=x', 400],
  ])('%s', async (_name, path, status) => {
    expect((await new Http1(server.current).get(path)).status).toBe(status);
  });

  test('a Status has the requested encoding', async () => {
    const path = '/api/v1/namespaces/absent';
    const http = new Http1(server.current);
    const json = await http.get(path);
    expect(treeOf(json)).toMatchObject({ kind: 'Status', reason: 'NotFound', code: 404 });
    const yaml = await http.get(path, { accept: 'application/yaml' });
    expect([yaml.headers['content-type'], yaml.text]).toEqual([
      'application/yaml',
      expect.stringContaining('reason: NotFound\n'),
    ]);
    const protobuf = await http.get(path, { accept: 'application/vnd.kubernetes.protobuf' });
    expect(protobuf.headers['content-type']).toBe('application/vnd.kubernetes.protobuf');
    expect(protobuf.text.startsWith('k8s\0')).toBe(true);
    const refused = await http.send({
      path,
      token: NOBODY,
      headers: { accept: 'application/vnd.kubernetes.protobuf' },
    });
    expect([refused.status, refused.headers['content-type']]).toEqual([403, 'application/vnd.kubernetes.protobuf']);
  });
});
