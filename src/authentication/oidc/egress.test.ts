import { X509Certificate } from 'node:crypto';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer as createPlainServer, type IncomingMessage, type Server } from 'node:http';
import { createServer } from 'node:https';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { HttpsProviderClient } from './http.js';
import { createCertificate, generateKey, keyPem } from '../../pki/certificates.js';
import { HttpsTransport } from '../../client/webhook/transport.js';
import { egressOf } from '../../client/egress/egress.js';
import { readHostRoots } from '../../client/egress/egress.js';

const notBefore = Date.now() - 60_000;
const notAfter = Date.now() + 3_600_000;
const folder = mkdtempSync(join(tmpdir(), 'annex-egress-'));
const authority = (commonName: string): { readonly pem: string; readonly key: ReturnType<typeof generateKey> } => {
  const key = generateKey();
  const request = { subject: { commonName }, publicKey: key.publicKey, usage: 'ca' as const, notBefore, notAfter };
  return { pem: createCertificate(request, { key: key.privateKey }), key };
};
const [trusted, other] = [authority('trusted'), authority('other')];
const pair = generateKey();
const cert = createCertificate(
  {
    subject: { commonName: 'server' },
    publicKey: pair.publicKey,
    usage: 'server',
    altNames: ['provider.example', 'elsewhere.example'],
    notBefore,
    notAfter,
  },
  { key: trusted.key.privateKey, certificate: new X509Certificate(trusted.pem) },
);

/** The requests that the server got, and those that the proxy got. */
const asked: string[] = [];
const proxied: string[] = [];
const answer = (request: IncomingMessage): { readonly status: number; readonly location?: string } => {
  const [, step] = /^\/round\/(\d+)/.exec(request.url ?? '') ?? [];
  if (step !== undefined) return { status: 302, location: `/round/${Number(step) + 1}` };
  if (request.url === '/few/9') return { status: 200 };
  const [, few] = /^\/few\/(\d+)/.exec(request.url ?? '') ?? [];
  if (few !== undefined) return { status: 307, location: `${Number(few) + 1}` };
  if (request.url === '/away') return { status: 301, location: 'https://elsewhere.example/end' };
  return { status: 200 };
};
const server = createServer({ cert, key: keyPem(pair.privateKey) }, (request, response) => {
  asked.push(`${request.headers.host ?? ''}${request.url ?? ''} ${request.headers.authorization ?? 'nobody'}`);
  const { status, location } = answer(request);
  response.writeHead(status, location === undefined ? {} : { location }).end('{}');
});
const proxy = createPlainServer((request, response) => {
  proxied.push(`${request.method ?? ''} ${request.url ?? ''} ${request.headers['proxy-authorization'] ?? ''}`);
  response.end('{}');
});
proxy.on('connect', (request, socket: Socket) => {
  proxied.push(`CONNECT ${request.url ?? ''} ${request.headers['proxy-authorization'] ?? ''}`);
  const through = connect((server.address() as AddressInfo).port, '127.0.0.1', () => {
    socket.write('HTTP/1.1 200 OK\r\n\r\n');
    through.pipe(socket).pipe(through);
  });
  for (const end of [through, socket]) end.on('error', () => undefined);
});

const listening = (one: Server | typeof server): Promise<void> =>
  new Promise((resolve) => one.listen(0, '127.0.0.1', resolve));
beforeAll(async () => {
  await Promise.all([listening(server), listening(proxy)]);
  writeFileSync(join(folder, 'trusted.pem'), trusted.pem);
  writeFileSync(join(folder, 'other.pem'), other.pem);
});
afterAll(() => {
  for (const one of [server, proxy]) {
    one.closeAllConnections();
    one.close();
  }
  rmSync(folder, { recursive: true });
});
beforeEach(() => {
  asked.length = 0;
  proxied.length = 0;
});

const environment = (file = 'trusted.pem'): Record<string, string> => {
  const address = `http://user:pass@127.0.0.1:${(proxy.address() as AddressInfo).port}`;
  const nothing = join(folder, 'nothing');
  return {
    HTTPS_PROXY: address,
    HTTP_PROXY: address,
    SSL_CERT_FILE: join(folder, file),
    SSL_CERT_DIR: nothing,
  };
};
const BASIC = `Basic ${Buffer.from('user:pass').toString('base64')}`;
const never = new AbortController().signal;

describe('identity providers', () => {
  const get = async (url: string, env = environment(), bearer?: string): Promise<string> => {
    const client = new HttpsProviderClient(undefined, egressOf(env));
    return client.get(url, bearer, never).finally(() => {
      client.close();
    });
  };

  test('are called through the proxy, with the root CAs of the host', async () => {
    expect(await get('https://provider.example/x')).toBe('{}');
    expect(proxied).toEqual([`CONNECT provider.example:443 ${BASIC}`]);
    expect(asked).toEqual(['provider.example/x nobody']);
  });

  test('a host without their CA does not trust them', async () => {
    await expect(get('https://provider.example/x', environment('other.pem'))).rejects.toThrow('certificate');
    await expect(get('https://provider.example/x', environment('nothing.pem'))).rejects.toThrow('certificate');
    expect(asked).toEqual([]);
  });

  test('hosts in NO_PROXY are called directly', async () => {
    const url = `https://provider.example:${(server.address() as AddressInfo).port}/x`;
    // This name does not exist.
    await expect(get(url, { ...environment(), NO_PROXY: 'example' })).rejects.toThrow(/ENOTFOUND|EAI_AGAIN/);
    expect(proxied).toEqual([]);
  });

  test('nine redirects are followed, but not ten', async () => {
    expect(await get('https://provider.example/few/0')).toBe('{}');
    expect(asked).toHaveLength(10);
    await expect(get('https://provider.example/round/0')).rejects.toThrow(
      'Get "https://provider.example/round/10": stopped after 10 redirects',
    );
  });

  test('credentials are not sent to another host after a redirect', async () => {
    await get('https://provider.example/away', environment(), 'secret');
    expect(asked).toEqual(['provider.example/away Bearer secret', 'elsewhere.example/end nobody']);
    expect(proxied).toHaveLength(2);
  });
});

describe('webhooks', () => {
  const post = async (url: string): Promise<number> => {
    const none = { ca: undefined, serverName: undefined, certificate: undefined, key: undefined, token: undefined };
    const remote = { ...none, url: new URL(url), tokenFile: undefined, basic: undefined, exec: undefined };
    const config = { ...remote, skipVerification: false };
    const transport = new HttpsTransport(
      config,
      () => Promise.reject(new Error('no file')),
      undefined,
      egressOf(environment()),
    );
    const { status } = await transport.post('{}', 60_000, never).finally(() => {
      transport.close();
    });
    return status;
  };

  test('are called through the proxy, with the root CAs of the host', async () => {
    expect(await post('https://provider.example/hook')).toBe(200);
    expect(proxied).toEqual([`CONNECT provider.example:443 ${BASIC}`]);
  });

  test('without TLS the proxy gets the whole URL', async () => {
    expect(await post('http://hook.example/hook?a=b')).toBe(200);
    expect(proxied).toEqual([`POST http://hook.example/hook?a=b ${BASIC}`]);
  });
});

describe('the root CAs of the host', () => {
  test('are read from a file and directories, each CA once', () => {
    const certs = join(folder, 'certs');
    mkdirSync(certs);
    writeFileSync(join(certs, 'a'), `${other.pem}${trusted.pem}`);
    writeFileSync(join(certs, 'b'), 'nothing of the kind');
    const file = join(folder, 'trusted.pem');
    const roots = readHostRoots({ SSL_CERT_FILE: file, SSL_CERT_DIR: `${join(folder, 'nothing')}:${certs}` });
    expect(roots.map((root) => new X509Certificate(root).subject)).toEqual(['CN=trusted', 'CN=other']);
    expect(readHostRoots({ SSL_CERT_FILE: 'nothing', SSL_CERT_DIR: 'nothing' })).toEqual([]);
  });
});
