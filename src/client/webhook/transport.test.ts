import { X509Certificate } from 'node:crypto';
import { once } from 'node:events';
import { createServer as createPlainServer } from 'node:http';
import { createServer, type Server } from 'node:https';
import type { AddressInfo, Socket } from 'node:net';
import { TLSSocket } from 'node:tls';
import { createCertificate, generateKey, keyPem } from '../../pki/certificates.js';
import { ResponseError } from './connection.js';
import { KubeconfigError, loadKubeconfig, type RemoteConfig } from './kubeconfig.js';
import { HttpsTransport } from './transport.js';

/** The timeout, in milliseconds, for calls that get a response: generous, for a busy machine. */
const PATIENCE = 240_000;
/** Called when a request arrives that gets no response. */
let hanging = (): void => undefined;

const notBefore = Date.now() - 60_000;
const notAfter = Date.now() + 3_600_000;
const caKey = generateKey();
const ca = createCertificate(
  { subject: { commonName: 'ca' }, publicKey: caKey.publicKey, usage: 'ca', notBefore, notAfter },
  { key: caKey.privateKey },
);
const issue = (commonName: string, usage: 'server' | 'client'): { readonly cert: string; readonly key: string } => {
  const pair = generateKey();
  const request = {
    subject: { commonName },
    publicKey: pair.publicKey,
    usage,
    altNames: ['127.0.0.1', 'hook.somewhere.svc'],
    notBefore,
    notAfter,
  };
  return {
    cert: createCertificate(request, { key: caKey.privateKey, certificate: new X509Certificate(ca) }),
    key: keyPem(pair.privateKey),
  };
};
const client = issue('webhook-client', 'client');

let server: Server;
let base: string;
const seen: {
  host: string | undefined;
  authorization: string | undefined;
  client: string | undefined;
  body: string;
}[] = [];

beforeAll(async () => {
  server = createServer(
    { ...issue('server', 'server'), ca, requestCert: true, rejectUnauthorized: false },
    (request, response) => {
      let body = '';
      request.setEncoding('utf8').on('data', (chunk: string) => (body += chunk));
      request.on('end', () => {
        const peer = request.socket instanceof TLSSocket ? request.socket.getPeerCertificate() : undefined;
        const commonName: unknown = Object.keys(peer ?? {}).length === 0 ? undefined : peer?.subject.CN;
        seen.push({
          host: request.headers.host,
          authorization: request.headers.authorization,
          client: typeof commonName === 'string' ? commonName : undefined,
          body,
        });
        if (request.url === '/hang') {
          hanging();
          return;
        }
        if (request.url === '/gone') {
          request.socket.destroy();
          return;
        }
        if (request.url === '/slow-body' || request.url === '/slow-head') {
          if (request.url === '/slow-body') response.write('{');
          let at = 0;
          const drip = (): unknown =>
            request.url === '/slow-body'
              ? response.write(' ')
              : request.socket.write('HTTP/1.1 200 OK\r\nx: '.charAt(at++) || 'x');
          const timer = setInterval(drip, 5);
          request.socket.once('close', () => clearInterval(timer));
          return;
        }
        if (request.url?.startsWith('/to?') === true) {
          response.writeHead(302, { location: decodeURIComponent(request.url.slice('/to?'.length)) }).end();
          return;
        }
        if (request.url === '/big') response.end(Buffer.alloc(5 * 1024 * 1024));
        else
          response
            .writeHead(request.url === '/busy' ? 503 : 200, request.url === '/busy' ? { 'retry-after': '1' } : {})
            .end('answer');
      });
    },
  );
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  base = `https://127.0.0.1:${(server.address() as AddressInfo).port}`;
});

afterAll(async () => {
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
});

const b64 = (text: string): string => Buffer.from(text).toString('base64');
const kubeconfig = (server: string, user = '', cluster = ''): string => `
apiVersion: v1
kind: Config
clusters: [{name: c, cluster: {server: '${server}', certificate-authority-data: ${b64(ca)}${cluster}}}]
users: [{name: u, user: {${user}}}]
contexts: [{name: x, context: {cluster: c, user: u}}]
current-context: x
`;
const load = (text: string, files: Record<string, string> = {}): Promise<RemoteConfig> =>
  loadKubeconfig('/etc/k/config', (path) => Promise.resolve(path === '/etc/k/config' ? text : (files[path] ?? '')));
const noFile = (): Promise<string> => Promise.reject(new Error('no file'));
const signal = new AbortController().signal;

test('a service is dialed at its resolved address, under its own name', async () => {
  const remote = await load(kubeconfig('https://hook.somewhere.svc:443/convert', 'token: t'));
  const { port } = server.address() as AddressInfo;
  const dial = () => Promise.resolve({ host: '127.0.0.1', port });
  const transport = new HttpsTransport({ ...remote, dial }, noFile, undefined);
  expect(await transport.post('asked', PATIENCE, signal)).toMatchObject({ status: 200, body: 'answer' });
  expect(seen.at(-1)).toMatchObject({ host: 'hook.somewhere.svc:443', body: 'asked' });
  transport.close();
  const lost = new HttpsTransport({ ...remote, dial: () => Promise.reject(new Error('nowhere')) }, noFile, undefined);
  await expect(lost.post('asked', PATIENCE, signal)).rejects.toThrow(
    'Post "https://hook.somewhere.svc:443/convert": nowhere',
  );
});

test('a user with only a name exists, and has no credentials', async () => {
  const bare = kubeconfig('https://h/x').replace('{name: u, user: {}}', '{name: u}');
  expect(bare).toContain('users: [{name: u}]');
  expect((await load(bare)).url.href).toBe('https://h/x');
  await expect(load(bare.replace('user: u}', 'user: v}'))).rejects.toThrow('user "v" was not found for context "x"');
});

test('a token webhook may use http and a query, and gets the credentials', async () => {
  const asked: { readonly url: string | undefined; readonly authorization: string | undefined }[] = [];
  const plain = createPlainServer((request, response) => {
    asked.push({ url: request.url, authorization: request.headers.authorization });
    request.resume().on('end', () => response.end('plain answer'));
  });
  await new Promise<void>((resolve) => plain.listen(0, '127.0.0.1', resolve));
  const { port } = plain.address() as AddressInfo;
  const text = kubeconfig(`http://127.0.0.1:${port}/review?cluster=a`, 'token: t');
  const remote = await loadKubeconfig('/etc/k/config', () => Promise.resolve(text), 'any');
  const transport = new HttpsTransport(remote, noFile, undefined);
  expect(await transport.post('asked', PATIENCE, signal)).toMatchObject({ status: 200, body: 'plain answer' });
  expect(asked).toEqual([{ url: '/review?cluster=a', authorization: 'Bearer t' }]);
  transport.close();
  plain.closeAllConnections();
  await new Promise((resolve) => plain.close(resolve));
  await expect(loadKubeconfig('/etc/k/config', () => Promise.resolve(kubeconfig('ftp://h/x')), 'any')).rejects.toThrow(
    'must use http or https',
  );
});

test('a large request body arrives complete', async () => {
  const transport = new HttpsTransport(await load(kubeconfig(base)), noFile, undefined);
  const asked = '0123456789ä'.repeat(100_000);
  expect(await transport.post(asked, PATIENCE, signal)).toMatchObject({ status: 200, body: 'answer' });
  expect(seen.at(-1)?.body.length).toBe(asked.length);
  transport.close();
});

describe('credentials', () => {
  const cases: readonly (readonly [string, string, { authorization?: string; client?: string }])[] = [
    ['none', '', {}],
    ['token', 'token: t', { authorization: 'Bearer t' }],
    ['token file before token', 'token: t, tokenFile: tok', { authorization: 'Bearer from-file' }],
    ['name and password', 'username: name, password: p', { authorization: `Basic ${b64('name:p')}` }],
    ['certificate in files', 'client-certificate: c.pem, client-key: /abs/k.pem', { client: 'webhook-client' }],
    [
      'certificate as data',
      `client-certificate-data: ${b64(client.cert)}, client-key-data: ${b64(client.key)}`,
      { client: 'webhook-client' },
    ],
  ];
  test.each(cases)('%s', async (_name, user, expected) => {
    const files = { '/etc/k/c.pem': client.cert, '/abs/k.pem': client.key };
    const remote = await load(kubeconfig(`${base}/authorize`, user), files);
    const transport = new HttpsTransport(
      remote,
      (path) => Promise.resolve(path === '/etc/k/tok' ? ' from-file\n' : ''),
      undefined,
    );
    seen.length = 0;
    expect(await transport.post('{"é":1}', PATIENCE, signal)).toEqual({
      status: 200,
      body: 'answer',
      contentType: '',
      retryAfter: false,
    });
    expect(seen).toMatchObject([{ authorization: undefined, client: undefined, ...expected, body: '{"é":1}' }]);
    transport.close();
  });

  test('may come from an exec plugin', async () => {
    const remote = await load(kubeconfig(`${base}/`));
    let rejected = 0;
    const transport = new HttpsTransport(remote, noFile, {
      credentials: () => Promise.resolve({ token: 'plugin' }),
      rejected: () => rejected++,
    });
    await transport.post('{}', PATIENCE, signal);
    expect(seen.at(-1)?.authorization).toBe('Bearer plugin');
    expect(rejected).toBe(0);
    transport.close();
  });

  test('another certificate from an exec plugin uses a new connection, and the old one is closed', async () => {
    const remote = await load(kubeconfig(`${base}/`));
    const other = issue('renewed', 'client');
    const given = [client, client, other];
    const transport = new HttpsTransport(remote, noFile, {
      credentials: () => {
        const { cert, key } = given.shift() ?? other;
        return Promise.resolve({ certificate: cert, key });
      },
      rejected: () => undefined,
    });
    const opened: Socket[] = [];
    const count = (socket: Socket): void => void opened.push(socket);
    server.on('secureConnection', count);
    seen.length = 0;
    for (let call = 0; call < 4; call++) await transport.post('{}', PATIENCE, signal);
    server.off('secureConnection', count);
    expect(seen.map(({ client: name }) => name)).toEqual(['webhook-client', 'webhook-client', 'renewed', 'renewed']);
    expect(opened).toHaveLength(2);
    const [first] = opened;
    if (first?.closed === false) await once(first, 'close');
    transport.close();
  });
});

test('refuses a user with an exec plugin if none can run', async () => {
  const remote = await load(kubeconfig(`${base}/`, 'exec: {command: x}'));
  expect(() => new HttpsTransport(remote, noFile, undefined)).toThrow(KubeconfigError);
});

describe('failures', () => {
  const post = async (
    path: string,
    timeout: number,
    change: Partial<RemoteConfig> = {},
    until = signal,
  ): Promise<ResponseError> => {
    const transport = new HttpsTransport(
      { ...(await load(kubeconfig(`${base}${path}`))), ...change },
      noFile,
      undefined,
    );
    try {
      await transport.post('{}', timeout, until);
    } catch (error) {
      if (error instanceof ResponseError) return error;
      throw error;
    } finally {
      transport.close();
    }
    throw new Error('no failure');
  };
  const redirected = (to: string, staysOnServer = false): Promise<ResponseError> =>
    post('/', PATIENCE, { url: new URL(`${base}/to?${encodeURIComponent(to)}`), staysOnServer });
  test('a timeout is not transient', async () => {
    const error = await post('/hang', 50);
    expect([error.timeout, error.transient]).toEqual([true, false]);
    expect(error.message).toContain('context deadline exceeded');
  });
  test.each(['/slow-body', '/slow-head'])('a response that never ends is a timeout: %s', async (path) => {
    expect((await post(path, 300)).timeout).toBe(true);
  });
  test('cancellation by the caller is not a timeout', async () => {
    const caller = new AbortController();
    hanging = () => {
      caller.abort();
    };
    expect((await post('/hang', PATIENCE, {}, caller.signal)).timeout).toBe(false);
  });
  test('a certificate of an unknown authority is refused', async () => {
    const other = generateKey();
    const foreign = createCertificate(
      { subject: { commonName: 'x' }, publicKey: other.publicKey, usage: 'ca', notBefore, notAfter },
      { key: other.privateKey },
    );
    expect((await post('/', PATIENCE, { ca: foreign })).message).toMatch(/^Post "https:\/\/127.0.0.1:\d+\/": /);
  });
  test('a new connection that is closed without a response is not transient', async () => {
    const error = await post('/gone', PATIENCE);
    expect([error.message, error.transient]).toEqual([`Post "${base}/gone": EOF`, false]);
  });
  test('a reused connection that was closed is transient', async () => {
    const remote = await load(kubeconfig(`${base}/`));
    const transport = new HttpsTransport(remote, noFile, undefined);
    await transport.post('{}', PATIENCE, signal);
    remote.url.pathname = '/gone';
    await expect(transport.post('{}', PATIENCE, signal)).rejects.toMatchObject({ transient: true });
    transport.close();
  });
  test('a response that is too large is refused', async () => {
    expect((await post('/big', PATIENCE)).message).toContain('the response exceeds');
  });
  test('a redirect to a file is refused, and calls nobody', async () => {
    const calls = seen.length;
    const { message } = await redirected('file:///etc/passwd');
    expect(message).toContain('unsupported protocol scheme "file"');
    expect(seen).toHaveLength(calls + 1);
  });
  test('a webhook that stays on its server is not followed to this machine, to metadata or to plain http', async () => {
    let asked = 0;
    const metadata = createPlainServer((_request, response) => {
      asked++;
      response.end('secret');
    });
    await new Promise<void>((resolve) => metadata.listen(0, '127.0.0.1', resolve));
    const local = `http://127.0.0.1:${(metadata.address() as AddressInfo).port}/`;
    for (const to of [local, 'http://169.254.169.254/latest/meta-data/', base.replace('127.0.0.1', 'localhost')]) {
      const { message } = await redirected(to, true);
      expect(message).toContain('a redirect to another server is not followed');
    }
    expect(asked).toBe(0);
    metadata.closeAllConnections();
    await new Promise((resolve) => metadata.close(resolve));
  });
  test('a webhook that stays on its server is followed there', async () => {
    const url = new URL(`${base}/to?${encodeURIComponent('/other')}`);
    const remote = { ...(await load(kubeconfig(base))), url, staysOnServer: true };
    const transport = new HttpsTransport(remote, noFile, undefined);
    expect((await transport.post('{}', PATIENCE, signal)).body).toBe('answer');
    transport.close();
  });
  test('Retry-After is reported', async () => {
    const transport = new HttpsTransport(await load(kubeconfig(`${base}/busy`)), noFile, undefined);
    expect(await transport.post('{}', PATIENCE, signal)).toMatchObject({ status: 503, retryAfter: true });
    transport.close();
  });
});

describe('refuses kubeconfig files', () => {
  const cases: readonly (readonly [string, string, string])[] = [
    ['http', kubeconfig('http://h/x'), 'must use https'],
    ['parameters', kubeconfig('https://h/x?a=b'), 'must not have query parameters'],
    ['empty parameters', kubeconfig('https://h/x?'), 'must not have query parameters'],
    ['no URL', kubeconfig('nonsense'), 'must be an https URL'],
    ['empty', '', 'no configuration has been provided'],
    [
      'another kind of proxy',
      kubeconfig('https://h').replace('server:', 'proxy-url: ftp://p:1, server:'),
      'invalid proxy-url: must be a URL with scheme "http", "https", or "socks5"',
    ],
    [
      'no such context',
      kubeconfig('https://h').replace('current-context: x', 'current-context: other'),
      'context was not found for specified context: other',
    ],
    [
      'no such cluster',
      kubeconfig('https://h').replace('cluster: c,', 'cluster: d,'),
      'no server found for cluster "d"',
    ],
    ['no such user', kubeconfig('https://h').replace('user: u}', 'user: v}'), 'user "v" was not found'],
  ];
  test.each(cases)('%s', async (_name, text, why) => {
    await expect(load(text)).rejects.toThrow(KubeconfigError);
    await expect(load(text)).rejects.toThrow(why);
  });
});
