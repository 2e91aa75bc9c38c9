import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { connect } from 'node:tls';
import { type Answer, dig, Http1, Http2, treeOf } from '../client.js';
import { type ServingPair, TestCa } from '../openid/certificates.js';
import { ADMIN, eventually, NOBODY, scratchFolder, TestServer } from '../server.js';

const REVIEWS = '/apis/authentication.k8s.io/v1/selfsubjectreviews';
const REVIEW = { apiVersion: 'authentication.k8s.io/v1', kind: 'SelfSubjectReview' };
const HOUR = 3_600_000;
const FORGED = {
  'x-remote-user': 'root',
  'x-remote-group': 'system:masters',
  'x-remote-uid': '0',
  'x-remote-extra-scopes': 'all',
};

describe('certificates and proxies', () => {
  const clients = new TestCa('clients');
  const proxies = new TestCa('proxies');
  const strangers = new TestCa('strangers');
  let server: TestServer | undefined;
  const folder = scratchFolder(async () => server?.stop('SIGKILL'));
  const current = (): TestServer => {
    if (server === undefined) throw new Error('the server has not started');
    return server;
  };

  beforeAll(async () => {
    writeFileSync(join(folder, 'clients.pem'), clients.pem);
    writeFileSync(join(folder, 'proxies.pem'), proxies.pem);
    server = await TestServer.start(folder, [
      `--client-ca-file=${join(folder, 'clients.pem')}`,
      `--requestheader-client-ca-file=${join(folder, 'proxies.pem')}`,
      '--requestheader-allowed-names=front,second',
      '--requestheader-username-headers=X-Remote-User,X-Forwarded-User',
      '--requestheader-uid-headers=X-Remote-Uid',
      '--requestheader-group-headers=X-Remote-Group',
      '--requestheader-extra-headers-prefix=X-Remote-Extra-',
    ]);
  });

  /** Returns the user for this certificate and these headers, or the status if the request is rejected. */
  async function whoIs(
    pair: ServingPair | undefined,
    headers: Readonly<Record<string, string>> = {},
    token = '',
  ): Promise<unknown> {
    const http = new Http1(current(), 1, pair);
    const answer: Answer = await http.send({ method: 'POST', path: REVIEWS, body: REVIEW, headers, token });
    return answer.status === 201 ? dig(treeOf(answer), 'status', 'userInfo') : answer.status;
  }

  test('other API servers can read the trusted CAs', async () => {
    const path = '/api/v1/namespaces/kube-system/configmaps/extension-apiserver-authentication';
    const answer = await new Http1(current()).send({ path });
    expect([answer.status, dig(treeOf(answer), 'data')]).toEqual([
      200,
      {
        'client-ca-file': expect.stringContaining(clients.pem) as unknown,
        'requestheader-allowed-names': '["front","second"]',
        'requestheader-client-ca-file': proxies.pem,
        'requestheader-extra-headers-prefix': '["X-Remote-Extra-"]',
        'requestheader-group-headers': '["X-Remote-Group"]',
        'requestheader-uid-headers': '["X-Remote-Uid"]',
        'requestheader-username-headers': '["X-Remote-User","X-Forwarded-User"]',
      },
    ]);
  });

  test('a front proxy names the user', async () => {
    const headers = {
      'X-REMOTE-USER': 'jane',
      'X-Remote-Uid': 'u1',
      'X-Remote-Group': 'devs',
      'X-Remote-Extra-Example.com%2fScopes': 'read',
    };
    expect(await whoIs(proxies.client('front', []), headers)).toEqual({
      username: 'jane',
      uid: 'u1',
      groups: ['devs', 'system:authenticated'],
      extra: { 'example.com/scopes': ['read'] },
    });
    expect(await whoIs(proxies.client('second', []), { 'x-forwarded-user': 'joe' })).toMatchObject({ username: 'joe' });
  });

  test('user names with non-ASCII characters are kept', async () => {
    const bytes = (text: string): string => Buffer.from(text).toString('latin1');
    const headers = {
      'x-remote-user': bytes('jürgen 世'),
      'x-remote-group': bytes('größte'),
      'x-remote-extra-a': bytes('ß'),
    };
    expect(await whoIs(proxies.client('front', []), headers)).toEqual({
      username: 'jürgen 世',
      groups: ['größte', 'system:authenticated'],
      extra: { a: ['ß'] },
    });
    expect(await whoIs(clients.client('jürgen 世', ['größte']))).toMatchObject({
      username: 'jürgen 世',
      groups: ['größte', 'system:authenticated'],
    });
    const call = {
      method: 'POST',
      path: REVIEWS,
      body: REVIEW,
      headers: { 'impersonate-user': bytes('jürgen 世'), 'user-agent': bytes('größe/1') },
    };
    for (const client of [new Http1(current()), new Http2(current())]) {
      expect(dig(treeOf(await client.send(call)), 'status', 'userInfo', 'username')).toBe('jürgen 世');
    }
    const path = '/api/v1/namespaces/default/configmaps?dryRun=All';
    const body = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'x' }, data: { a: 'b' } };
    const made = await new Http1(current()).send({ ...call, path, body, headers: { 'user-agent': bytes('größe/1') } });
    expect(dig(treeOf(made), 'metadata', 'managedFields', 0, 'manager')).toBe('größe');
  });

  test('a client certificate decides the user, regardless of request headers', async () => {
    expect(await whoIs(clients.client('jane', ['devs', 'ops']), FORGED)).toMatchObject({
      username: 'jane',
      groups: ['devs', 'ops', 'system:authenticated'],
    });
  });

  test.each(['clients', 'proxies'])('rejects a CA with the name of the %s CA and another key', async (name) => {
    const pair = new TestCa(name).client('front', []);
    for (let i = 0; i < 5; i++) {
      expect(await whoIs(pair, FORGED)).toBe(401);
      expect(await whoIs(pair, FORGED, NOBODY)).toMatchObject({ username: 'jane', uid: 'jane-uid' });
    }
  });

  test('request headers without a certificate are ignored', async () => {
    expect(await whoIs(undefined, FORGED)).toBe(403);
    expect(await whoIs(undefined, FORGED, NOBODY)).toMatchObject({ username: 'jane', uid: 'jane-uid' });
    expect(await whoIs(undefined, FORGED, 'wrong')).toBe(401);
  });

  test.each<[string, () => ServingPair]>([
    ['of the CA of proxies, under a name that is not allowed', () => proxies.client('other', [])],
    ['of a foreign CA, under a name that is allowed', () => strangers.client('front', [])],
    ['that has expired', () => proxies.client('front', [], [Date.now() - 2 * HOUR, Date.now() - HOUR])],
    ['that is not valid yet', () => proxies.client('front', [], [Date.now() + HOUR, Date.now() + 2 * HOUR])],
    ['for servers', () => proxies.serving()],
  ])('a front proxy certificate %s is rejected', async (_name, pair) => {
    expect(await whoIs(pair(), FORGED)).toBe(401);
    // Other authentication methods still work.
    expect(await whoIs(pair(), FORGED, NOBODY)).toMatchObject({ username: 'jane' });
  });

  test.each<[string, () => ServingPair]>([
    ['of a foreign CA', () => strangers.client('jane', ['system:masters'])],
    ['that has expired', () => clients.client('jane', [], [Date.now() - 2 * HOUR, Date.now() - HOUR])],
  ])('a client certificate %s is rejected', async (_name, pair) => {
    expect(await whoIs(pair())).toBe(401);
  });

  test('line breaks in user names are kept', async () => {
    const name = 'jane\r\nX-Evil: 1';
    const http = new Http1(current(), 1, clients.client(name, ['a\nb']));
    const review = await http.send({ method: 'POST', path: REVIEWS, body: REVIEW, token: '' });
    expect(dig(treeOf(review), 'status', 'userInfo')).toMatchObject({
      username: name,
      groups: ['a\nb', 'system:authenticated'],
    });
    const refused = await http.send({ path: '/api/v1/namespaces/default/secrets/a%0d%0aX-Evil:%201', token: '' });
    expect([refused.status, refused.headers['x-evil']]).toEqual([403, undefined]);
    expect(treeOf(refused)['message']).toBe(
      `secrets "a\\r\\nX-Evil: 1" is forbidden: User "jane\\r\\nX-Evil: 1" cannot get resource "secrets" in API group "" in the namespace "default"`,
    );
    const text = await http.send({ path: '/metrics', token: '' });
    expect([text.status, text.headers['x-evil']]).toEqual([403, undefined]);
  });

  test('line breaks in paths, fields, and impersonated users do not get into headers', async () => {
    const http = new Http1(current());
    const path = '/api/v1/namespaces/default/configmaps';
    const missing = await http.get(`${path}/a%0d%0aX-Evil:%201`);
    expect([missing.status, treeOf(missing)['message'], missing.headers['x-evil']]).toEqual([
      404,
      'configmaps "a\\r\\nX-Evil: 1" not found',
      undefined,
    ]);
    const object = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'x' }, 'a\r\nX-Evil: 1': 1 };
    const warned = await http.post(`${path}?dryRun=All`, object);
    expect([warned.status, warned.headers['warning'], warned.headers['x-evil']]).toEqual([
      201,
      '299 - "unknown field \\"a\\\\r\\\\nX-Evil: 1\\""',
      undefined,
    ]);
    const headers = { 'impersonate-user': 'jane', 'impersonate-extra-a%0d%0ab': 'c' };
    const other = await http.send({ method: 'POST', path: REVIEWS, body: REVIEW, headers });
    expect(dig(treeOf(other), 'status', 'userInfo', 'extra')).toEqual({ 'a\r\nb': ['c'] });
  });

  describe('more than one Authorization header', () => {
    const raw = (...tokens: string[]): Promise<string> =>
      new Promise((resolve, reject) => {
        const { port, ca } = current();
        const socket = connect({ port, host: '127.0.0.1', ca });
        let text = '';
        socket.setEncoding('utf8').on('data', (chunk: string) => (text += chunk));
        socket.on('error', reject).on('close', () => {
          resolve(text.split('\r\n')[0] ?? '');
        });
        const lines = tokens.map((token) => `Authorization: Bearer ${token}\r\n`).join('');
        socket.write(`GET /metrics HTTP/1.1\r\nHost: x\r\n${lines}Connection: close\r\n\r\n`);
      });

    test.each([
      ['the first one counts', [ADMIN, 'wrong'], 'HTTP/1.1 200 OK'],
      ['even where it is wrong', ['wrong', ADMIN], 'HTTP/1.1 401 Unauthorized'],
      ['or has fewer permissions', [NOBODY, ADMIN], 'HTTP/1.1 403 Forbidden'],
      ['two tokens in one are not a token', [`${ADMIN}, Bearer ${ADMIN}`], 'HTTP/1.1 401 Unauthorized'],
    ])('%s', async (_name, tokens, line) => {
      expect(await raw(...tokens)).toBe(line);
    });
  });

  // This test is the last one because it changes the files.
  test.each(['clients', 'proxies'])('a CA removed from %s.pem is distrusted at once', async (name) => {
    const [old, next] = [name === 'clients' ? clients : proxies, new TestCa(`new ${name}`)];
    const headers = { 'x-remote-user': 'front' };
    const [before, after] = [old.client('front', []), next.client('front', [])];
    expect(await whoIs(before, headers)).toMatchObject({ username: 'front' });
    const began = performance.now();
    writeFileSync(join(folder, `${name}.pem`), next.pem);
    await eventually('the old CA is not trusted', async () =>
      (await whoIs(before, headers)) === 401 ? true : undefined,
    );
    // Well below one minute, after which the files are read in any case.
    expect(performance.now() - began).toBeLessThan(40_000);
    expect(await whoIs(after, headers)).toMatchObject({ username: 'front' });
  });
});
