import { sign } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { createServer as createProxy } from 'node:http';
import { createServer } from 'node:https';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { join } from 'node:path';
import { dig, Http1, treeOf } from '../client.js';
import { eventually, scratchFolder, TestServer } from '../server.js';
import { TestCa } from './certificates.js';
import { signingKey } from './openid.js';

const ISSUER = 'https://provider.example';
const ELSEWHERE = 'https://elsewhere.example/configuration';
const WEBHOOK = 'hook.example';
const REVIEWS = '/apis/authentication.k8s.io/v1/selfsubjectreviews';
const CONFIGURATIONS = '/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations';
const CONFIGMAPS = '/api/v1/namespaces/default/configmaps';

const ca = new TestCa();
const key = signingKey('one', 'RS256');

/** The requests to the provider and the webhook, and the targets of the proxy. */
const asked: string[] = [];
const proxied: string[] = [];

const { key: serverKey, certificate } = ca.serving(['provider.example', 'elsewhere.example', WEBHOOK]);
const server = createServer({ key: serverKey, cert: certificate }, (request, response) => {
  const at = `https://${request.headers.host ?? ''}${request.url ?? ''}`;
  asked.push(at);
  let text = '';
  request.setEncoding('utf8').on('data', (chunk: string) => (text += chunk));
  request.on('end', () => {
    response.setHeader('Content-Type', 'application/json');
    if (at === `${ISSUER}/.well-known/openid-configuration`)
      return void response.writeHead(302, { location: ELSEWHERE }).end();
    if (at === ELSEWHERE) return void response.end(JSON.stringify({ issuer: ISSUER, jwks_uri: `${ISSUER}/keys` }));
    if (at === `${ISSUER}/keys`) {
      const jwk = { ...key.privateKey.export({ format: 'jwk' }), d: undefined, kid: key.kid, alg: key.alg, use: 'sig' };
      return void response.end(JSON.stringify({ keys: [jwk] }));
    }
    const { request: review } = JSON.parse(text) as { request: { uid: string } };
    const answer = { uid: review.uid, allowed: false, status: { message: 'refused by way of the proxy' } };
    response.end(JSON.stringify({ apiVersion: 'admission.k8s.io/v1', kind: 'AdmissionReview', response: answer }));
  });
});
const proxy = createProxy((_, response) => response.writeHead(405).end());
proxy.on('connect', (request, socket: Socket) => {
  proxied.push(request.url ?? '');
  const through = connect((server.address() as AddressInfo).port, '127.0.0.1', () => {
    socket.write('HTTP/1.1 200 OK\r\n\r\n');
    through.pipe(socket).pipe(through);
  });
  for (const end of [through, socket]) end.on('error', () => undefined);
});

const token = (): string => {
  const now = Math.floor(Date.now() / 1_000);
  const parts = [
    { alg: key.alg, kid: key.kid, typ: 'JWT' },
    { iss: ISSUER, aud: 'kubectl', sub: 'jane', iat: now, exp: now + 600 },
  ].map((part) => Buffer.from(JSON.stringify(part)).toString('base64url'));
  const signature = sign('sha256', Buffer.from(parts.join('.')), key.privateKey);
  return [...parts, signature.toString('base64url')].join('.');
};

let started: TestServer | undefined;
const folder = scratchFolder(async () => {
  await started?.stop('SIGKILL');
  for (const one of [server, proxy]) {
    one.closeAllConnections();
    one.close();
  }
});

beforeAll(async () => {
  for (const one of [server, proxy]) await new Promise<void>((resolve) => one.listen(0, '127.0.0.1', resolve));
  writeFileSync(join(folder, 'roots.pem'), ca.pem);
});

/** Starts a server on a host that trusts only the roots in `file`. */
const start = async (file: string): Promise<TestServer> => {
  await started?.stop('SIGKILL');
  [asked.length, proxied.length] = [0, 0];
  started = await TestServer.start(folder, ['--oidc-issuer-url', ISSUER, '--oidc-client-id', 'kubectl'], {
    HTTPS_PROXY: `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`,
    NO_PROXY: '',
    SSL_CERT_FILE: join(folder, file),
    SSL_CERT_DIR: join(folder, 'nothing'),
  });
  return started;
};
const whoIs = async (http: Http1): Promise<unknown> => {
  const body = Buffer.from('{"apiVersion":"authentication.k8s.io/v1","kind":"SelfSubjectReview"}');
  const answer = await http.send({ method: 'POST', path: REVIEWS, body, token: token() });
  return answer.status === 401 ? 401 : dig(treeOf(answer), 'status', 'userInfo', 'username');
};
const makeConfigMap = async (http: Http1, name: string): Promise<unknown> => {
  const body = Buffer.from(JSON.stringify({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name } }));
  return dig(treeOf(await http.send({ method: 'POST', path: CONFIGMAPS, body })), 'message');
};

test("reaches provider and webhook through the proxy of the environment, and trusts the host's roots", async () => {
  const http = new Http1(await start('roots.pem'));
  const name = await eventually('the keys of the provider', async () => {
    const found = await whoIs(http);
    return found === 401 ? undefined : found;
  });
  expect(name).toBe(`${ISSUER}#jane`);
  expect(asked.slice(0, 3)).toEqual([`${ISSUER}/.well-known/openid-configuration`, ELSEWHERE, `${ISSUER}/keys`]);
  const configuration = {
    apiVersion: 'admissionregistration.k8s.io/v1',
    kind: 'ValidatingWebhookConfiguration',
    metadata: { name: 'far' },
    webhooks: [
      {
        name: 'far.example.com',
        clientConfig: { url: `https://${WEBHOOK}/admit` },
        rules: [{ operations: ['CREATE'], apiGroups: [''], apiVersions: ['v1'], resources: ['configmaps'] }],
        sideEffects: 'None',
        admissionReviewVersions: ['v1'],
      },
    ],
  };
  const body = Buffer.from(JSON.stringify(configuration));
  expect((await http.send({ method: 'POST', path: CONFIGURATIONS, body })).status).toBe(201);
  expect(await makeConfigMap(http, 'one')).toBe(
    'admission webhook "far.example.com" denied the request: refused by way of the proxy',
  );
  expect([...new Set(proxied)]).toEqual(['provider.example:443', 'elsewhere.example:443', `${WEBHOOK}:443`]);
});

test('a host without their root trusts neither', async () => {
  writeFileSync(join(folder, 'others.pem'), new TestCa('others').pem);
  const restarted = await start('others.pem');
  const http = new Http1(restarted);
  expect(await makeConfigMap(http, 'two')).toMatch(/^Internal error occurred: failed calling webhook .*certificate/);
  await eventually('the provider has been tried', () =>
    Promise.resolve(proxied.includes('provider.example:443') || undefined),
  );
  expect(await whoIs(http)).toBe(401);
  expect(asked).toEqual([]);
});
