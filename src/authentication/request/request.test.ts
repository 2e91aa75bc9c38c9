import { X509Certificate } from 'node:crypto';
import type { TLSSocket } from 'node:tls';
import { createCertificate, generateKey, type KeyPair } from '../../pki/certificates.js';
import { FakeClock } from '../../../test/fakes/util/clock.js';
import type { Gauge } from 'prom-client';
import { metricsRegistry } from '../../util/metrics/metrics.js';
import { NEVER_ABORTED } from '../../util/never-aborted.js';
import type {
  AuthenticationRequest,
  AuthenticationResponse,
  RequestAuthenticator,
} from '../authenticator/interfaces.js';
import type { UserInfo } from '../user/user.js';
import { AnonymousAuthenticator, WithFallback } from './anonymous.js';
import { AuthenticatedGroupAdder } from './authenticated-group.js';
import { BearerTokenAuthenticator } from './bearer-token.js';
import { CaBundle } from './client-ca.js';
import { RequestHeaderAuthenticator } from './request-header.js';
import { UnionRequestAuthenticator } from './union.js';
import { X509Authenticator } from './x509.js';

const HOUR = 3_600_000;
const clock = new FakeClock();
const start = clock.now();

interface Authority extends KeyPair {
  readonly pem: string;
}

function authority(commonName: string, lifetime = 100 * HOUR): Authority {
  const pair = generateKey();
  const request = { subject: { commonName }, publicKey: pair.publicKey, usage: 'ca' as const };
  const pem = createCertificate(
    { ...request, notBefore: start - HOUR, notAfter: start + lifetime },
    { key: pair.privateKey },
  );
  return { ...pair, pem };
}

interface Wanted {
  readonly commonName?: string;
  readonly organizations?: readonly string[];
  readonly notBefore?: number;
  readonly notAfter?: number;
  readonly usage?: 'client' | 'server';
}

/** Returns the server's end of a connection whose client presented this certificate. */
function connection(issuer: Authority, wanted: Wanted = {}): TLSSocket {
  const { commonName = 'jane', organizations = ['devs', 'ops'], usage = 'client' } = wanted;
  const pem = createCertificate(
    {
      subject: { commonName, organizations },
      publicKey: generateKey().publicKey,
      usage,
      notBefore: wanted.notBefore ?? start - HOUR,
      notAfter: wanted.notAfter ?? start + 10 * HOUR,
    },
    { key: issuer.privateKey, certificate: new X509Certificate(issuer.pem) },
  );
  const certificate = new X509Certificate(pem);
  return { getPeerX509Certificate: () => certificate } as Partial<TLSSocket> as TLSSocket;
}

const ca = authority('ca');
const other = authority('other-ca');

function ask(
  method: RequestAuthenticator,
  socket: TLSSocket | undefined,
  rawHeaders: readonly string[] = [],
  warnings: string[] = [],
): AuthenticationResponse | undefined | string {
  const headers: Record<string, string> = {};
  for (let i = 0; i + 1 < rawHeaders.length; i += 2)
    headers[(rawHeaders[i] ?? '').toLowerCase()] ??= rawHeaders[i + 1] ?? '';
  const request: AuthenticationRequest = {
    headers,
    rawHeaders,
    socket,
    signal: NEVER_ABORTED,
    path: '/healthz',
    warn: (text) => warnings.push(text),
  };
  try {
    const answer = method.authenticateRequest(request);
    if (answer instanceof Promise) throw new Error('a promise');
    return answer;
  } catch (error) {
    return (error as Error).message;
  }
}

describe('client certificates', () => {
  const make = (pool = new CaBundle(ca.pem)): X509Authenticator => new X509Authenticator(pool, clock, true);

  test('the common name is the user, organizations are the groups', () => {
    const answer = ask(make(), connection(ca)) as AuthenticationResponse;
    expect(answer.user).toEqual({
      name: 'jane',
      uid: '',
      groups: ['devs', 'ops'],
      extra: { 'authentication.kubernetes.io/credential-id': [expect.stringMatching(/^X509SHA256=[0-9a-f]{64}$/)] },
    });
  });

  const refused: readonly (readonly [string, TLSSocket, string])[] = [
    ['of a foreign CA', connection(other), 'x509: certificate signed by unknown authority'],
    ['of a CA that has only the name', connection(authority('ca')), 'x509: certificate signed by unknown authority'],
    [
      'expired',
      connection(ca, { notAfter: start - 1000 }),
      'x509: certificate has expired or is not yet valid: current time',
    ],
    ['not yet valid', connection(ca, { notBefore: start + HOUR }), 'is before'],
    ['for servers', connection(ca, { usage: 'server' }), 'x509: certificate specifies an incompatible key usage'],
  ];
  test.each(refused)('%s', (_name, socket, why) => {
    const answer = ask(make(), socket);
    expect(answer).toMatch(/^verifying certificate SN=[0-9A-F]+ failed: /);
    expect(answer).toContain(why);
  });

  test('a certificate of an expired CA is refused', () => {
    const late = authority('late', -1000);
    expect(ask(make(new CaBundle(late.pem)), connection(late))).toContain('signed by unknown authority');
  });

  test('no certificate, or one without a common name, is no user', () => {
    expect(ask(make(), undefined)).toBeUndefined();
    expect(ask(make(), { getPeerX509Certificate: () => undefined } as Partial<TLSSocket> as TLSSocket)).toBeUndefined();
    expect(ask(make(), connection(ca, { commonName: '' }))).toBeUndefined();
  });

  test('a bundle may have several CAs, and replaced CAs apply to open connections', () => {
    const pool = new CaBundle(ca.pem + other.pem);
    const method = make(pool);
    const [mine, theirs] = [connection(ca), connection(other)];
    for (const socket of [mine, theirs]) expect(ask(method, socket)).toMatchObject({ user: { name: 'jane' } });
    pool.replace(other.pem);
    expect(ask(method, mine)).toContain('unknown authority');
    expect(ask(method, theirs)).toMatchObject({ user: { name: 'jane' } });
    expect(() => {
      pool.replace('no PEM');
    }).toThrow('data does not contain any valid RSA or ECDSA certificates');
    expect(ask(method, theirs)).toMatchObject({ user: { name: 'jane' } });
  });

  test.each([
    ['the certificate', 10 * HOUR, 100 * HOUR],
    ['its CA', 100 * HOUR, 10 * HOUR],
  ])('a connection that outlives %s is refused', (_name, leaf, root) => {
    const later = new FakeClock();
    const short = authority('short', root);
    const method = new X509Authenticator(new CaBundle(short.pem), later, true);
    const socket = connection(short, { notAfter: start + leaf });
    expect(ask(method, socket)).toMatchObject({ user: { name: 'jane' } });
    later.advance(9 * HOUR);
    expect(ask(method, socket)).toMatchObject({ user: { name: 'jane' } });
    later.advance(2 * HOUR);
    expect(ask(method, socket)).toContain('x509: certificate');
  });
});

describe('headers of a proxy', () => {
  const config = {
    usernameHeaders: ['X-Remote-User', 'X-User'],
    uidHeaders: ['X-Remote-Uid'],
    groupHeaders: ['X-Remote-Group', 'X-Group'],
    extraHeaderPrefixes: ['X-Remote-Extra-'],
    allowedNames: ['front-proxy'],
  };
  const proxy = connection(ca, { commonName: 'front-proxy' });
  const make = (pool = new CaBundle(ca.pem), at = clock): RequestHeaderAuthenticator =>
    new RequestHeaderAuthenticator(pool, () => config, at);

  const users: readonly (readonly [string, readonly string[], UserInfo | undefined])[] = [
    [
      'everything',
      [
        ...['x-remote-user', 'jane', 'X-REMOTE-GROUP', 'a', 'X-Remote-Group', 'b', 'X-Group', 'c', 'X-Remote-Uid', '7'],
        ...[
          'X-Remote-Extra-Acme.com%2FProject',
          'p',
          'x-remote-extra-acme.com%2fproject',
          'q',
          'X-Remote-Extra-Constructor',
          Buffer.from('ß').toString('latin1'),
          'X-Remote-Extra-%zz',
          'r',
        ],
      ],
      {
        name: 'jane',
        uid: '7',
        groups: ['a', 'b', 'c'],
        extra: { 'acme.com/project': ['p', 'q'], constructor: ['ß'], '%zz': ['r'] },
      },
    ],
    [
      'the first header that has a value',
      ['X-Remote-User', '', 'X-User', 'joe'],
      { name: 'joe', uid: '', groups: [], extra: {} },
    ],
    ['no user', ['X-Remote-Group', 'system:masters'], undefined],
  ];
  test.each(users)('%s', (_name, headers, user) => {
    const answer = ask(make(), proxy, headers);
    expect(answer).toEqual(user === undefined ? undefined : { user, viaProxy: true });
  });

  const jane = ['X-Remote-User', 'jane'];
  const forged: readonly (readonly [string, TLSSocket | undefined, string | undefined])[] = [
    ['without a certificate', undefined, undefined],
    [
      'of somebody else',
      connection(ca, { commonName: 'jane' }),
      'x509: subject with cn=jane is not in the allowed list',
    ],
    [
      'of a foreign CA',
      connection(other, { commonName: 'front-proxy' }),
      'x509: certificate signed by unknown authority',
    ],
    [
      'of an expired certificate',
      connection(ca, { commonName: 'front-proxy', notAfter: start - 1 }),
      'x509: certificate has expired or is not yet valid',
    ],
  ];
  test.each(forged)('headers %s are not trusted', (_name, socket, why) => {
    const answer = ask(make(), socket, jane);
    if (why === undefined) expect(answer).toBeUndefined();
    else expect(answer).toContain(why);
  });

  test('a connection is verified once, and again when the CAs change or its certificate expires', () => {
    const later = new FakeClock();
    const pool = new CaBundle(ca.pem);
    const verify = jest.spyOn(pool, 'verify');
    const method = make(pool, later);
    for (let i = 0; i < 3; i++) expect(ask(method, proxy, jane)).toMatchObject({ user: { name: 'jane' } });
    expect(verify).toHaveBeenCalledTimes(1);
    pool.replace(ca.pem + other.pem);
    expect(ask(method, proxy, jane)).toMatchObject({ user: { name: 'jane' } });
    expect(verify).toHaveBeenCalledTimes(2);
    later.advance(11 * HOUR);
    expect(ask(method, proxy, jane)).toContain('has expired');
    expect(ask(method, proxy, jane)).toContain('has expired');
    pool.replace(other.pem);
    expect(ask(make(pool), proxy, jane)).toContain('unknown authority');
  });
});

describe('bearer tokens', () => {
  const jane = { name: 'jane', uid: '', groups: [], extra: {} };
  const method = new BearerTokenAuthenticator({
    authenticateToken: (token) => (token === 'good' ? { user: jane } : undefined),
  });
  // The expectations are the responses of kube-apiserver.
  const cases: readonly (readonly [string, string, object | string | undefined])[] = [
    ['good', 'Bearer good', { user: jane }],
    ['case of the scheme', 'bEARER good', { user: jane }],
    ['more after it', 'Bearer good more', { user: jane }],
    ['unknown', 'Bearer bad', 'invalid bearer token'],
    ['two spaces', 'Bearer  good', undefined],
    ['no token', 'Bearer', undefined],
    ['another scheme', 'Basic good', undefined],
    ['nothing', '', undefined],
  ];
  test.each(cases)('%s', (_name, header, expected) => {
    const warnings: string[] = [];
    expect(ask(method, undefined, ['Authorization', header], warnings)).toEqual(expected);
    expect(warnings).toHaveLength(header === 'Bearer  good' ? 1 : 0);
  });
});

describe('unions and fallbacks of authenticators', () => {
  const says = (answer: AuthenticationResponse | undefined): RequestAuthenticator => ({
    authenticateRequest: () => answer,
  });
  const fails = (text: string): RequestAuthenticator => ({
    authenticateRequest: () => {
      throw new Error(text);
    },
  });
  const user = (name: string): AuthenticationResponse => ({ user: { name, uid: '', groups: [], extra: {} } });
  const cases: readonly (readonly [string, RequestAuthenticator[], object | string | undefined])[] = [
    ['the first that knows', [says(undefined), says(user('a')), says(user('b'))], user('a')],
    ['errors count only where nobody knows', [fails('x'), says(user('a'))], user('a')],
    ['one error', [fails('x'), says(undefined)], 'x'],
    ['several, each once', [fails('x'), fails('y'), fails('x')], '[x, y]'],
    ['nobody', [says(undefined)], undefined],
  ];
  test.each(cases)('%s', (_name, methods, expected) => {
    expect(ask(new UnionRequestAuthenticator(methods), undefined)).toEqual(expected);
  });

  test.each([
    [[], ['system:authenticated']],
    [['system:authenticated'], ['system:authenticated']],
    [['system:unauthenticated'], ['system:unauthenticated']],
  ])('groups %j become %j', (groups, expected) => {
    const inner = says({ user: { name: 'a', uid: '', groups, extra: {} } });
    expect(ask(new AuthenticatedGroupAdder(inner), undefined)).toMatchObject({ user: { groups: expected } });
  });

  test('anonymous requests are accepted on all or on some paths', () => {
    const anonymous = { user: { name: 'system:anonymous', groups: ['system:unauthenticated'] } };
    expect(ask(new AnonymousAuthenticator(), undefined)).toMatchObject(anonymous);
    expect(ask(new AnonymousAuthenticator(['/livez', '/healthz']), undefined)).toMatchObject(anonymous);
    expect(ask(new AnonymousAuthenticator(['/livez']), undefined)).toBeUndefined();
  });

  test('only requests without credentials are anonymous', () => {
    const anonymous = new AnonymousAuthenticator();
    expect(ask(new WithFallback(says(user('a')), anonymous), undefined)).toMatchObject(user('a'));
    expect(ask(new WithFallback(says(undefined), anonymous), undefined)).toMatchObject({
      user: { name: 'system:anonymous' },
    });
    expect(ask(new WithFallback(fails('wrong'), anonymous), undefined)).toBe('wrong');
  });
});

describe('what client certificates make the server keep', () => {
  /** The bytes of remembered chains. */
  const kept = async (): Promise<number> => {
    const { values } = await (metricsRegistry.getSingleMetric('annex_request_cache_bytes') as Gauge).get();
    return values.find(({ labels }) => labels['cache'] === 'client_certificates')?.value ?? NaN;
  };
  const certificate = (issuer: Authority, usage: 'ca' | 'client', pair: KeyPair, commonName: string): X509Certificate =>
    new X509Certificate(
      createCertificate(
        { subject: { commonName }, publicKey: pair.publicKey, usage, notBefore: start - HOUR, notAfter: start + HOUR },
        { key: issuer.privateKey, certificate: new X509Certificate(issuer.pem) },
      ),
    );
  const present = (leaf: X509Certificate, ...issuers: readonly X509Certificate[]): TLSSocket => {
    const chain = [leaf, ...issuers];
    chain.forEach((one, i) => Object.defineProperty(one, 'issuerCertificate', { value: chain[i + 1] }));
    return { getPeerX509Certificate: () => leaf } as Partial<TLSSocket> as TLSSocket;
  };

  test('chains of strangers are not remembered', async () => {
    const method = new X509Authenticator(new CaBundle(ca.pem), clock, true);
    const before = await kept();
    const stranger = authority('stranger');
    for (let i = 0; i < 20; i++) {
      const leaf = certificate(stranger, 'client', generateKey(), `mallory${i}`);
      expect(ask(method, present(leaf, new X509Certificate(stranger.pem)))).toContain('unknown authority');
    }
    expect(await kept()).toBe(before);
  });

  test('the intermediates of a verified chain are, for connections that resume its session', async () => {
    const method = new X509Authenticator(new CaBundle(ca.pem), clock, true);
    const before = await kept();
    const pair = generateKey();
    const intermediate = certificate(ca, 'ca', pair, 'between');
    const leaf = certificate({ ...pair, pem: intermediate.toString() }, 'client', generateKey(), 'jane');
    expect(ask(method, present(leaf, intermediate))).toMatchObject({ user: { name: 'jane' } });
    expect((await kept()) - before).toBe(leaf.raw.length + intermediate.raw.length);
    expect(ask(method, present(new X509Certificate(leaf.raw)))).toMatchObject({ user: { name: 'jane' } });
  });

  test('the signatures checked for one chain are bounded, as in Go', () => {
    // Each of these certificates may have issued each other one.
    const pair = generateKey();
    const loop = (): X509Certificate => certificate({ ...pair, pem: authority('loop').pem }, 'ca', pair, 'loop');
    const chain = Array.from({ length: 9 }, loop);
    const verified = jest.spyOn(X509Certificate.prototype, 'verify');
    const answer = ask(
      new X509Authenticator(new CaBundle(ca.pem), clock, true),
      present(chain[0] as X509Certificate, ...chain.slice(1)),
    );
    expect(answer).toMatch(/signature check attempts limit reached|unknown authority/);
    expect(verified.mock.calls.length).toBeLessThanOrEqual(100);
    verified.mockRestore();
  });
});
