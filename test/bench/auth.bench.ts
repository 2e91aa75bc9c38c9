import { createPublicKey, generateKeyPairSync, type KeyObject } from 'node:crypto';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { connect, createServer as createTlsServer, type TLSSocket } from 'node:tls';
import { SignJWT } from 'jose';
import type {
  AuthenticationRequest,
  AuthenticationResponse,
  RequestAuthenticator,
  TokenAuthenticator,
} from '../../src/authentication/authenticator/interfaces.js';
import type { ProviderClient } from '../../src/authentication/oidc/http.js';
import { loadAuthenticationConfiguration } from '../../src/authentication/oidc/load.js';
import { OidcSet } from '../../src/authentication/oidc/oidc-set.js';
import { checkConfiguration } from '../../src/authentication/oidc/reload.js';
import { SIGNING_ALGORITHMS } from '../../src/authentication/oidc/types.js';
import { AuthenticatedGroupAdder } from '../../src/authentication/request/authenticated-group.js';
import { BearerTokenAuthenticator } from '../../src/authentication/request/bearer-token.js';
import { CaBundle } from '../../src/authentication/request/client-ca.js';
import { RequestHeaderAuthenticator } from '../../src/authentication/request/request-header.js';
import { UnionRequestAuthenticator } from '../../src/authentication/request/union.js';
import { X509Authenticator } from '../../src/authentication/request/x509.js';
import { BootstrapTokenAuthenticator } from '../../src/authentication/token/bootstrap.js';
import { verificationKey } from '../../src/authentication/token/service-account/service-account-keys.js';
import { JwtSigner } from '../../src/authentication/token/service-account/service-account-signer.js';
import { ServiceAccountTokenAuthenticator } from '../../src/authentication/token/service-account/service-account.js';
import { TokenCache } from '../../src/authentication/token/token-cache.js';
import { TokenFileAuthenticator } from '../../src/authentication/token/token-file.js';
import { WebhookTokenAuthenticator } from '../../src/authentication/token/webhook.js';
import { RbacIndex } from '../../src/authorization/rbac/rbac-index.js';
import { HttpsTransport } from '../../src/client/webhook/transport.js';
import { systemClock } from '../../src/util/clock.js';
import { NEVER_ABORTED } from '../../src/util/never-aborted.js';
import { TestCa } from '../integration/openid/certificates.js';

/**
 * Microseconds of CPU to authenticate and authorize a request, by method, cached and uncached, and to complete a handshake with a client
 * certificate. Without HTTP, so that nothing else counts:
 *
 *     node test/bench/managedfields-run.mjs test/bench/auth.bench.ts
 */

const GROUP = 'rbac.authorization.k8s.io';
const BINDINGS = 10_000;
const ISSUER = 'https://issuer.example';
const AUDIENCES = ['https://kubernetes.default.svc'];
const clock = systemClock;
const ca = new TestCa();

/** Returns an index with many bindings, one of which lets the group of the users below get config maps. */
function manyBindings(): RbacIndex {
  const index = new RbacIndex();
  const rules = [{ apiGroups: [''], resources: ['configmaps'], verbs: ['get', 'list', 'watch'] }];
  index.upsert('ClusterRole', { metadata: { name: 'reader' }, rules });
  for (let i = 0; i < BINDINGS; i++) {
    index.upsert('RoleBinding', {
      metadata: { name: `b${i}`, namespace: `ns-${i % 100}` },
      roleRef: { apiGroup: GROUP, kind: 'ClusterRole', name: 'reader' },
      subjects: [
        i === 7
          ? { kind: 'Group', apiGroup: GROUP, name: 'system:authenticated' }
          : { kind: 'User', apiGroup: GROUP, name: `user-${i}` },
      ],
    });
  }
  return index;
}

const rbac = manyBindings();
const asked = {
  verb: 'get',
  resourceRequest: true,
  namespace: 'ns-7',
  apiGroup: '',
  apiVersion: 'v1',
  resource: 'configmaps',
  subresource: '',
  name: 'c',
  path: '',
} as const;

interface Scene {
  readonly headers?: Readonly<Record<string, string>>;
  readonly socket?: TLSSocket;
}

function requestOf({ headers = {}, socket }: Scene): AuthenticationRequest {
  return { headers, rawHeaders: Object.entries(headers).flat(), socket, signal: NEVER_ABORTED };
}

const bearer = (token: string): Scene => ({ headers: { authorization: `Bearer ${token}` } });

/** Combines authenticators as the server does. */
const chain = (...methods: RequestAuthenticator[]): RequestAuthenticator =>
  new AuthenticatedGroupAdder(new UnionRequestAuthenticator(methods));
const tokens = (method: TokenAuthenticator): RequestAuthenticator => chain(new BearerTokenAuthenticator(method));

/** Measures the CPU per request, and the latency of sequential requests. Every request must be allowed. */
async function measure(
  name: string,
  method: RequestAuthenticator,
  scenes: readonly Scene[],
  times: number,
): Promise<void> {
  const requests = scenes.map(requestOf);
  const one = (answer: AuthenticationResponse | undefined): void => {
    if (answer === undefined) throw new Error(`${name}: nobody`);
    if (rbac.authorize({ ...asked, user: answer.user }).decision !== 'allow') throw new Error(`${name}: refused`);
  };
  const run = async (count: number): Promise<void> => {
    for (let i = 0; i < count; i++) {
      const answer = method.authenticateRequest(requests[i % requests.length]!);
      one(answer instanceof Promise ? await answer : answer);
    }
  };
  // Uncached cases are warmed up elsewhere: the first requests must be the measured ones.
  if (scenes.length === 1) await run(Math.min(times, 20_000));
  const cpu = process.cpuUsage();
  const began = performance.now();
  await run(times);
  const elapsed = ((performance.now() - began) * 1000) / times;
  const { user, system } = process.cpuUsage(cpu);
  console.log(`${name}: ${((user + system) / times).toFixed(2)} µs CPU, ${elapsed.toFixed(2)} µs`);
}

const none = (): undefined => undefined;

async function files(): Promise<void> {
  const file = new TokenFileAuthenticator('secret-token,jane,1,"devs,ops"\n', 'tokens.csv', none);
  await measure('token file', tokens(file), [bearer('secret-token')], 200_000);
  const secret = {
    metadata: { name: 'bootstrap-token-abcdef', namespace: 'kube-system' },
    type: 'bootstrap.kubernetes.io/token',
    data: Object.fromEntries(
      Object.entries({
        'token-id': 'abcdef',
        'token-secret': '0123456789abcdef',
        'usage-bootstrap-authentication': 'true',
        expiration: '2100-01-01T00:00:00Z',
      }).map(([key, value]) => [key, Buffer.from(value).toString('base64')]),
    ),
  };
  const bootstrap = new BootstrapTokenAuthenticator({ secret: () => secret, clock, refused: none });
  await measure('bootstrap token', tokens(bootstrap), [bearer('abcdef.0123456789abcdef')], 100_000);
}

async function serviceAccounts(kind: string, key: KeyObject): Promise<void> {
  const signer = new JwtSigner(key, AUDIENCES[0] ?? '');
  const account = { metadata: { name: 'robot', namespace: 'default', uid: 'u' } };
  const make = (): ServiceAccountTokenAuthenticator =>
    new ServiceAccountTokenAuthenticator({
      issuers: AUDIENCES,
      keys: [verificationKey(key)],
      audiences: AUDIENCES,
      objects: { cached: () => account, live: () => Promise.resolve(account) },
      lookup: true,
      clock,
      markUsed: none,
    });
  const scenes: Scene[] = [];
  for (let i = 0; i < 1000; i++) {
    const serviceAccount = { name: 'robot', uid: 'u' };
    const request = {
      namespace: 'default',
      serviceAccount,
      audiences: AUDIENCES,
      now: clock.now(),
      expirationSeconds: 3600,
    };
    scenes.push(bearer((await signer.signBound(request)).token));
  }
  await measure(`service account, ${kind}, every token new`, tokens(make()), scenes, scenes.length);
  await measure(`service account, ${kind}, known`, tokens(make()), scenes.slice(0, 1), 100_000);
}

async function openid(alg: 'RS256' | 'ES256', key: KeyObject): Promise<void> {
  const jwk = { ...createPublicKey(key).export({ format: 'jwk' }), kid: '1', alg, use: 'sig' };
  const client: ProviderClient = {
    get: (url) =>
      Promise.resolve(
        JSON.stringify(url.endsWith('/keys') ? { keys: [jwk] } : { issuer: ISSUER, jwks_uri: `${ISSUER}/keys` }),
      ),
    close: none,
  };
  const configuration = loadAuthenticationConfiguration(
    JSON.stringify({
      apiVersion: 'apiserver.config.k8s.io/v1beta1',
      kind: 'AuthenticationConfiguration',
      jwt: [
        {
          issuer: { url: ISSUER, audiences: ['annex'] },
          claimValidationRules: [{ expression: 'claims.hd == "example.com"', message: 'no' }],
          claimMappings: {
            username: { expression: '"oidc:" + claims.sub' },
            groups: { expression: 'claims.groups' },
          },
        },
      ],
    }),
  );
  const metrics = { authenticated: none, keysFetched: none, dropped: none };
  const set = new OidcSet(checkConfiguration(configuration, []), {
    algorithms: SIGNING_ALGORITHMS,
    client: () => client,
    clock,
    metrics,
    onError: none,
  });
  await set.start();
  const scenes: Scene[] = [];
  for (let i = 0; i < 1000; i++) {
    const claims = { hd: 'example.com', groups: ['devs', 'ops'] };
    const token = await new SignJWT({ ...claims, jti: String(i) })
      .setProtectedHeader({ alg, kid: '1' })
      .setIssuer(ISSUER)
      .setAudience('annex')
      .setSubject('jane')
      .setExpirationTime('1h')
      .sign(key);
    scenes.push(bearer(token));
  }
  const cache = (): TokenCache => new TokenCache(set, { successTtl: 10_000, failureTtl: 0, clock });
  await measure(`OpenID Connect with expressions, ${alg}, every token new`, tokens(cache()), scenes, scenes.length);
  await measure(`OpenID Connect with expressions, ${alg}, known`, tokens(cache()), scenes.slice(0, 1), 100_000);
}

async function webhook(): Promise<void> {
  const { key, certificate } = ca.serving();
  const user = { username: 'jane', groups: ['devs'] };
  const server = createServer({ key, cert: certificate }, (request, response) => {
    request.resume().on('end', () => {
      const review = {
        apiVersion: 'authentication.k8s.io/v1',
        kind: 'TokenReview',
        status: { authenticated: true, user },
      };
      response.setHeader('content-type', 'application/json').end(JSON.stringify(review));
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const remote = {
    url: new URL(`https://127.0.0.1:${(server.address() as AddressInfo).port}/`),
    ca: ca.pem,
    serverName: undefined,
    skipVerification: false,
    certificate: undefined,
    key: undefined,
    token: 't',
    tokenFile: undefined,
    basic: undefined,
    exec: undefined,
  };
  const transport = new HttpsTransport(remote, () => Promise.resolve(''), undefined);
  const inner = new WebhookTokenAuthenticator({
    version: 'v1',
    audiences: AUDIENCES,
    transport,
    clock,
    random: Math.random,
    failed: (text) => {
      throw new Error(text);
    },
  });
  const cache = (): TokenCache => new TokenCache(inner, { successTtl: 120_000, failureTtl: 120_000, clock });
  const scenes = Array.from({ length: 1000 }, (_, i) => bearer(`opaque-${i}`));
  await measure('webhook (its own work counted), every token new', tokens(cache()), scenes, scenes.length);
  await measure('webhook, known', tokens(cache()), scenes.slice(0, 1), 100_000);
  transport.close();
  server.closeAllConnections();
  server.close();
}

/** Measures authentication by client certificates, on the server's end of a connection. */
async function certificates(): Promise<void> {
  const serving = ca.serving();
  const accepted: TLSSocket[] = [];
  const server = createTlsServer(
    { key: serving.key, cert: serving.certificate, ca: ca.pem, requestCert: true, rejectUnauthorized: false },
    (socket) => accepted.push(socket.on('error', none)),
  );
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const dial = async (client?: { readonly key: string; readonly certificate: string }): Promise<TLSSocket> => {
    const before = accepted.length;
    const credentials = client === undefined ? {} : { key: client.key, cert: client.certificate };
    const socket = connect({ port, host: '127.0.0.1', ca: ca.pem, ...credentials });
    await new Promise((resolve, reject) => socket.once('secureConnect', resolve).once('error', reject));
    while (accepted.length === before) await new Promise((resolve) => setImmediate(resolve));
    return socket;
  };
  const jane = ca.client('jane', ['devs', 'ops']);
  const pool = new CaBundle(ca.pem);
  const x509 = chain(new X509Authenticator(pool, clock, true));
  await dial(jane);
  await measure('client certificate, connection known', x509, [{ socket: accepted[0]! }], 200_000);
  for (let i = 0; i < 200; i++) await dial(jane);
  const fresh = accepted.slice(1).map((socket) => ({ socket }));
  await measure('client certificate, every connection new (after the handshake)', x509, fresh, fresh.length);
  const config = {
    usernameHeaders: ['X-Remote-User'],
    uidHeaders: [],
    groupHeaders: ['X-Remote-Group'],
    extraHeaderPrefixes: ['X-Remote-Extra-'],
    allowedNames: ['jane'],
  };
  const proxy = chain(new RequestHeaderAuthenticator(pool, () => config, clock));
  const headers = { 'X-Remote-User': 'jane', 'X-Remote-Group': 'devs', 'X-Remote-Extra-Scopes': 'a' };
  await measure('headers of a proxy', proxy, [{ socket: accepted[0]!, headers }], 100_000);
  for (const [what, client] of [
    ['without client certificate', undefined],
    ['with client certificate', jane],
  ] as const) {
    const times = 300;
    for (let i = 0; i < 50; i++) (await dial(client)).destroy();
    const cpu = process.cpuUsage();
    const began = performance.now();
    for (let i = 0; i < times; i++) (await dial(client)).destroy();
    const { user, system } = process.cpuUsage(cpu);
    const took = (performance.now() - began) / times;
    console.log(
      `TLS 1.3 handshake, P-256, both ends, ${what}: ${((user + system) / 1000 / times).toFixed(2)} ms CPU, ${took.toFixed(2)} ms`,
    );
  }
  for (const socket of accepted) socket.destroy();
  server.close();
}

const rsa = generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey;
const ec = generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey;
await files();
await certificates();
await serviceAccounts('RS256', rsa);
await serviceAccounts('ES256', ec);
await openid('RS256', rsa);
await openid('ES256', ec);
await webhook();
process.exit(0);
