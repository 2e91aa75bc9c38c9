import { X509Certificate } from 'node:crypto';
import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { createServer, type Server } from 'node:https';
import { type AddressInfo, connect, createServer as createTcpServer, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createCertificate, generateKey, keyPem } from '../pki/certificates.js';
import { systemClock } from '../util/clock.js';
import { ClusterClient } from './cluster-client.js';

const validity = { notBefore: Date.now() - 60_000, notAfter: Date.now() + 3_600_000 };
const caPair = generateKey();
const caPem = createCertificate(
  { subject: { commonName: 'ca' }, publicKey: caPair.publicKey, usage: 'ca', ...validity },
  { key: caPair.privateKey },
);

let folder: string;
let server: Server;
let url: string;
let connections: number;
let refuse: number;
const seen: IncomingMessage['headers'][] = [];
const closing: (() => void)[] = [];

function respond(request: IncomingMessage, response: ServerResponse): void {
  seen.push(request.headers);
  const status = refuse > 0 ? 401 : 200;
  refuse--;
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify({ path: request.url }));
}

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'cluster-client-'));
  connections = 0;
  refuse = 0;
  seen.length = 0;
  const { privateKey, publicKey } = generateKey();
  const subject = { commonName: 'server' };
  const cert = createCertificate(
    { subject, publicKey, usage: 'server', altNames: ['127.0.0.1'], ...validity },
    { key: caPair.privateKey, certificate: new X509Certificate(caPem) },
  );
  server = createServer({ key: keyPem(privateKey), cert }, respond);
  server.on('secureConnection', () => connections++);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  url = `https://127.0.0.1:${(server.address() as AddressInfo).port}`;
});
afterEach(() => {
  for (const close of closing.splice(0)) close();
  server.closeAllConnections();
  server.close();
  rmSync(folder, { recursive: true });
});

function client(user: object, cluster: object = {}): ClusterClient {
  const path = join(folder, 'config');
  const ca = Buffer.from(caPem).toString('base64');
  writeFileSync(
    path,
    JSON.stringify({
      'current-context': 'x',
      clusters: [{ name: 'c', cluster: { server: url, 'certificate-authority-data': ca, ...cluster } }],
      users: [{ name: 'u', user }],
      contexts: [{ name: 'x', context: { cluster: 'c', user: 'u' } }],
    }),
  );
  const made = ClusterClient.load(path, systemClock);
  closing.push(() => {
    made.close();
  });
  return made;
}

/** An exec plugin that counts its runs, and returns a token with the count. */
function plugin(expires: string | undefined): object {
  const script = join(folder, 'plugin.sh');
  const expiry = expires === undefined ? '' : `,"expirationTimestamp":"${expires}"`;
  writeFileSync(
    script,
    `#!/bin/sh
echo run >> "${folder}/runs"
printf '%s' "$KUBERNETES_EXEC_INFO" > "${folder}/info"
echo '{"kind":"ExecCredential","apiVersion":"client.authentication.k8s.io/v1","status":{"token":"t'"$(wc -l < "${folder}/runs" | tr -d ' ')"'"${expiry}}}'
`.replace('"\'"${expiry}', `"'"${expiry}`),
  );
  chmodSync(script, 0o700);
  return {
    exec: {
      apiVersion: 'client.authentication.k8s.io/v1',
      command: './plugin.sh',
      interactiveMode: 'Never',
      provideClusterInfo: true,
    },
  };
}

const authorizations = (): (string | undefined)[] => seen.map(({ authorization }) => authorization);

test('sends the body of a DELETE', async () => {
  const made = client({ token: 't' });
  const options = { preconditions: { uid: 'é' } };
  await made.call('DELETE', '/a', options);
  await made.call('GET', '/b');
  expect(seen.map((headers) => headers['content-length'])).toEqual([
    String(Buffer.byteLength(JSON.stringify(options))),
    undefined,
  ]);
  expect(connections).toBe(1);
});

describe('credentials', () => {
  const users: readonly (readonly [string, object, Record<string, unknown>])[] = [
    ['token', { token: 't' }, { authorization: 'Bearer t' }],
    [
      'name and password',
      { username: 'n', password: 'p' },
      { authorization: `Basic ${Buffer.from('n:p').toString('base64')}` },
    ],
    [
      'somebody who acts as somebody else',
      { token: 't', as: 'jane', 'as-uid': '7', 'as-groups': ['a', 'b'], 'as-user-extra': { 'x/y': ['z'] } },
      {
        'impersonate-user': 'jane',
        'impersonate-uid': '7',
        'impersonate-group': 'a, b',
        'impersonate-extra-x%2fy': 'z',
      },
    ],
  ];
  test.each(users)('%s', async (_name, user, headers) => {
    expect(await client(user).call('GET', '/version')).toEqual({ status: 200, body: { path: '/version' } });
    expect(seen[0]).toMatchObject(headers);
  });

  test('a token file is read for each request', async () => {
    const file = join(folder, 'token');
    const calls = client({ tokenFile: 'token' });
    for (const token of ['one', 'two']) {
      writeFileSync(file, `${token}\n`);
      await calls.call('GET', '/');
    }
    expect(authorizations()).toEqual(['Bearer one', 'Bearer two']);
  });

  test('an exec plugin runs once until its token is refused, and gets the cluster info', async () => {
    const calls = client(plugin(undefined));
    await Promise.all([calls.call('GET', '/a'), calls.call('GET', '/b')]);
    refuse = 1;
    expect((await calls.call('GET', '/c')).status).toBe(401);
    await calls.call('GET', '/d');
    expect(authorizations()).toEqual(['Bearer t1', 'Bearer t1', 'Bearer t1', 'Bearer t2']);
    const info: unknown = JSON.parse(readFileSync(join(folder, 'info'), 'utf8'));
    expect(info).toMatchObject({
      apiVersion: 'client.authentication.k8s.io/v1',
      spec: { interactive: false, cluster: { server: url } },
    });
  });

  test('an exec plugin runs again when its token has expired', async () => {
    const calls = client(plugin('2020-01-01T00:00:00Z'));
    await calls.call('GET', '/');
    await calls.call('GET', '/');
    expect(authorizations()).toEqual(['Bearer t1', 'Bearer t2']);
  });

  test('a missing exec plugin fails the call', async () => {
    const exec = { apiVersion: 'client.authentication.k8s.io/v1', command: './nowhere', interactiveMode: 'Never' };
    await expect(client({ exec }).call('GET', '/')).rejects.toThrow(/^exec: executable .*nowhere not found/);
  });
});

test('calls share connections', async () => {
  const calls = client({ token: 't' });
  for (let i = 0; i < 5; i++) await calls.call('GET', `/${i}`);
  expect(connections).toBe(1);
});

test('a server URL may have a path', async () => {
  expect((await client({}, { server: `${url}/k8s/clusters/c-1/` }).call('GET', '/version')).body).toEqual({
    path: '/k8s/clusters/c-1/version',
  });
});

test.each(['http://127.0.0.1:1', 'nonsense', ''])('the server %j is refused', (address) => {
  expect(() => client({}, { server: address })).toThrow('does not specify an https server');
});

describe('through a proxy', () => {
  async function proxy(handle: (socket: Socket) => void): Promise<number> {
    const made = createTcpServer((socket) => {
      handle(socket.on('error', () => undefined));
    });
    await new Promise<void>((resolve) => made.listen(0, '127.0.0.1', resolve));
    closing.push(() => made.close());
    return (made.address() as AddressInfo).port;
  }
  const pipe = (socket: Socket, host: string, port: number): void => {
    const target = connect(port, host);
    target.on('error', () => undefined);
    socket.pipe(target).pipe(socket);
  };

  test('http', async () => {
    const heads: string[] = [];
    const port = await proxy((socket) => {
      socket.once('data', (data) => {
        const head = data.toString();
        heads.push(head);
        const [, host = '', at = ''] = /^CONNECT ([\d.]+):(\d+) HTTP/.exec(head) ?? [];
        socket.write('HTTP/1.1 200 OK\r\n\r\n');
        pipe(socket, host, Number(at));
      });
    });
    const calls = client({ token: 't' }, { 'proxy-url': `http://user:pass@127.0.0.1:${port}` });
    expect((await calls.call('GET', '/version')).status).toBe(200);
    expect(heads).toHaveLength(1);
    expect(heads[0]).toContain(Buffer.from('user:pass').toString('base64'));
    // The proxy sees only the address.
    expect(heads[0]).not.toContain('Bearer');
  });

  test('socks5', async () => {
    const port = await proxy((socket) => {
      socket.once('data', () => {
        socket.write(Buffer.from([5, 0]));
        socket.once('data', (request) => {
          socket.write(Buffer.from([5, 0, 0, 1, 0, 0, 0, 0, 0, 0]));
          pipe(socket, [...request.subarray(4, 8)].join('.'), request.readUInt16BE(8));
        });
      });
    });
    const calls = client({ token: 't' }, { 'proxy-url': `socks5://127.0.0.1:${port}` });
    expect((await calls.call('GET', '/version')).status).toBe(200);
  });

  test('a refusal by the proxy is an error', async () => {
    const port = await proxy((socket) => {
      socket.once('data', () => socket.end('HTTP/1.1 403 Forbidden\r\n\r\n'));
    });
    const calls = client({ token: 't' }, { 'proxy-url': `http://127.0.0.1:${port}` });
    await expect(calls.call('GET', '/version')).rejects.toMatchObject({ status: 0 });
  });
});

describe('without a kubeconfig, outside a pod', () => {
  const names = ['KUBERNETES_SERVICE_HOST', 'KUBERNETES_SERVICE_PORT'] as const;
  const before = names.map((name) => process.env[name]);
  afterEach(() => {
    names.forEach((name, i) => {
      if (before[i] === undefined) Reflect.deleteProperty(process.env, name);
      else process.env[name] = before[i];
    });
  });

  test.each([
    ['neither host nor port', '', ''],
    ['no port', '10.0.0.1', ''],
    ['no host', '', '443'],
  ])('%s', (_, host, port) => {
    [process.env['KUBERNETES_SERVICE_HOST'], process.env['KUBERNETES_SERVICE_PORT']] = [host, port];
    expect(() => ClusterClient.load('', systemClock)).toThrow(
      'unable to load in-cluster configuration, KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT must be defined',
    );
  });
});
