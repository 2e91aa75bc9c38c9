import { createPrivateKey, generateKeyPairSync, type KeyObject } from 'node:crypto';
import { CompactSign, SignJWT } from 'jose';
import type { KubeObject } from '../../../apimachinery/meta/meta.js';
import { FakeClock } from '../../../../test/fakes/util/clock.js';
import { cacheBytes } from '../../../../test/fakes/util/cache-bytes.js';
import * as secrets from '../../../util/same-secret.js';
import { AuthenticationError, type AuthenticationResponse } from '../../authenticator/interfaces.js';
import { ServiceAccountTokenAuthenticator, type ServiceAccountTokenOptions } from './service-account.js';
import { readSigningKey, readVerificationKeys, uniqueKeys, verificationKey } from './service-account-keys.js';
import type { BoundKind, ServiceAccountObjects } from './service-account-objects.js';
import { type BoundTokenRequest, JwtSigner } from './service-account-signer.js';

jest.mock('../../../util/same-secret.js', () => {
  const actual = jest.requireActual<typeof secrets>('../../../util/same-secret.js');
  return { sameSecret: jest.fn(actual.sameSecret) };
});

const ISSUER = 'https://kubernetes.default.svc';
const AUDIENCES = ['api'];
const rsa = generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey;
const ec = generateKeyPairSync('ec', { namedCurve: 'P-384' }).privateKey;
const foreign = generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey;
const CREDENTIAL_ID = 'authentication.kubernetes.io/credential-id';

class Objects implements ServiceAccountObjects {
  readonly stored = new Map<string, KubeObject>();
  readonly memory = new Map<string, KubeObject>();

  put(kind: BoundKind, name: string, more: Partial<KubeObject> = {}, uid = `${name}-uid`): void {
    const namespace = kind === 'nodes' ? '' : 'ns';
    const object = { ...more, metadata: { name, uid, ...more.metadata } };
    this.stored.set(`${kind}/${namespace}/${name}`, object);
    this.memory.set(`${kind}/${namespace}/${name}`, object);
  }

  remove(kind: BoundKind, name: string): void {
    const key = `${kind}/${kind === 'nodes' ? '' : 'ns'}/${name}`;
    this.stored.delete(key);
    this.memory.delete(key);
  }

  cached(kind: BoundKind, namespace: string, name: string): KubeObject | undefined {
    return this.memory.get(`${kind}/${namespace}/${name}`);
  }

  live(kind: BoundKind, namespace: string, name: string): Promise<KubeObject | undefined> {
    return Promise.resolve(this.stored.get(`${kind}/${namespace}/${name}`));
  }
}

interface Setting {
  readonly clock: FakeClock;
  readonly objects: Objects;
  readonly marked: string[];
  readonly authenticator: ServiceAccountTokenAuthenticator;
  readonly request: BoundTokenRequest;
}

function setting(more: Partial<ServiceAccountTokenOptions> = {}): Setting {
  const clock = new FakeClock();
  const objects = new Objects();
  const marked: string[] = [];
  objects.put('serviceaccounts', 'sa');
  objects.put('secrets', 'secret');
  objects.put('pods', 'pod');
  objects.put('nodes', 'node');
  const authenticator = new ServiceAccountTokenAuthenticator({
    issuers: [ISSUER, 'https://old'],
    keys: [verificationKey(rsa), verificationKey(ec)],
    audiences: AUDIENCES,
    objects,
    lookup: true,
    clock,
    markUsed: (secret, label, day) => marked.push(`${secret.metadata.name} ${label}=${day}`),
    ...more,
  });
  const request = {
    namespace: 'ns',
    serviceAccount: { name: 'sa', uid: 'sa-uid' },
    audiences: AUDIENCES,
    now: clock.now(),
    expirationSeconds: 600,
  };
  return { clock, objects, marked, authenticator, request };
}

async function outcome(
  authenticator: ServiceAccountTokenAuthenticator,
  token: string,
  audiences: readonly string[] = [],
): Promise<AuthenticationResponse | string | undefined> {
  try {
    return await authenticator.authenticateToken(token, audiences);
  } catch (error) {
    if (error instanceof AuthenticationError) return error.message;
    throw error;
  }
}

const sign = (request: BoundTokenRequest, key: KeyObject = rsa, issuer = ISSUER): Promise<string> =>
  new JwtSigner(key, issuer).signBound(request).then(({ token }) => token);

const ref = (name: string): { name: string; uid: string } => ({ name, uid: `${name}-uid` });

describe('bound tokens', () => {
  test.each([
    ['RSA', rsa],
    ['ECDSA', ec],
  ])('%s: returns the user of the token', async (_name, key) => {
    const { authenticator, request } = setting();
    const { token, id } = await new JwtSigner(key, ISSUER).signBound(request);
    expect(await outcome(authenticator, token)).toEqual({
      user: {
        name: 'system:serviceaccount:ns:sa',
        uid: 'sa-uid',
        groups: ['system:serviceaccounts', 'system:serviceaccounts:ns'],
        extra: { [CREDENTIAL_ID]: [`JTI=${id}`] },
      },
      audiences: ['api'],
    });
  });

  test('the second use verifies no signature, is synchronous, and returns the same response', async () => {
    const { authenticator, request } = setting();
    const token = await sign(request);
    const first = await outcome(authenticator, token);
    const second = authenticator.authenticateToken(token, []);
    expect(second).not.toBeInstanceOf(Promise);
    expect(second).toBe(first);
  });

  const bindings: readonly (readonly [string, Partial<BoundTokenRequest>, Record<string, string[]>])[] = [
    ['secret', { secret: ref('secret') }, {}],
    ['pod', { pod: ref('pod') }, { 'pod-name': ['pod'], 'pod-uid': ['pod-uid'] }],
    [
      'pod on a node that need not exist',
      { pod: ref('pod'), node: { name: 'gone' } },
      { 'node-name': ['gone'], 'pod-name': ['pod'], 'pod-uid': ['pod-uid'] },
    ],
    ['node', { node: ref('node') }, { 'node-name': ['node'], 'node-uid': ['node-uid'] }],
  ];
  test.each(bindings)('bound to a %s', async (_name, more, extra) => {
    const { authenticator, request } = setting();
    const response = await outcome(authenticator, await sign({ ...request, ...more }));
    const expected = Object.fromEntries(
      Object.entries(extra).map(([key, value]) => [`authentication.kubernetes.io/${key}`, value]),
    );
    expect(response).toMatchObject({ user: { extra: { ...expected, [CREDENTIAL_ID]: [expect.any(String)] } } });
  });

  const invalidated = 'service account token has been invalidated';
  const longAgo = { metadata: { deletionTimestamp: '2025-01-01T00:00:00Z' } };
  const changes: readonly (readonly [string, Partial<BoundTokenRequest>, (objects: Objects) => void, string])[] = [
    [
      'account deleted',
      {},
      (o) => {
        o.remove('serviceaccounts', 'sa');
      },
      'serviceaccounts "sa" not found',
    ],
    [
      'account made anew',
      {},
      (o) => {
        o.put('serviceaccounts', 'sa', {}, 'other');
      },
      'service account UID (other) does not match claim (sa-uid)',
    ],
    [
      'account being deleted',
      {},
      (o) => {
        o.put('serviceaccounts', 'sa', longAgo);
      },
      'service account ns/sa has been deleted',
    ],
    [
      'secret deleted',
      { secret: ref('secret') },
      (o) => {
        o.remove('secrets', 'secret');
      },
      invalidated,
    ],
    [
      'secret made anew',
      { secret: ref('secret') },
      (o) => {
        o.put('secrets', 'secret', {}, 'other');
      },
      'secret UID (other) does not match service account secret ref claim (secret-uid)',
    ],
    [
      'pod deleted',
      { pod: ref('pod') },
      (o) => {
        o.remove('pods', 'pod');
      },
      invalidated,
    ],
    [
      'pod being deleted',
      { pod: ref('pod') },
      (o) => {
        o.put('pods', 'pod', longAgo);
      },
      invalidated,
    ],
    [
      'node deleted',
      { node: ref('node') },
      (o) => {
        o.remove('nodes', 'node');
      },
      invalidated,
    ],
  ];
  test.each(changes)('%s: refused at once', async (_name, more, change, message) => {
    const { authenticator, request, objects } = setting();
    const token = await sign({ ...request, ...more });
    expect(await outcome(authenticator, token)).toHaveProperty('user');
    change(objects);
    expect(await outcome(authenticator, token)).toBe(message);
  });

  test('an object that is not in the cache yet is read from the store', async () => {
    const { authenticator, request, objects } = setting();
    objects.memory.clear();
    expect(await outcome(authenticator, await sign({ ...request, pod: ref('pod') }))).toHaveProperty('user');
  });

  test('checks audiences', async () => {
    const { authenticator, request } = setting();
    const token = await sign({ ...request, audiences: ['a', 'b'] });
    expect(await outcome(authenticator, token)).toBe(
      'token audiences ["a" "b"] is invalid for the target audiences ["api"]',
    );
    expect(await outcome(authenticator, token, ['b', 'c'])).toMatchObject({ audiences: ['b'] });
  });

  test('checks times, with a minute of clock skew', async () => {
    const { authenticator, request, clock } = setting();
    const token = await sign(request);
    clock.advance(659_000);
    expect(await outcome(authenticator, token)).toHaveProperty('user');
    clock.advance(2_000);
    expect(await outcome(authenticator, token)).toBe('service account token has expired');
    const early = await sign({ ...request, now: clock.now() + 120_000 });
    expect(await outcome(authenticator, early)).toBe('service account token is not valid yet');
  });

  test('use after warnafter is annotated', async () => {
    const { authenticator, request, clock } = setting();
    const token = await sign({ ...request, expirationSeconds: 10_000, warnAfterSeconds: 3607 });
    expect(await outcome(authenticator, token)).not.toHaveProperty('annotations');
    clock.advance(3_617_000);
    expect(await outcome(authenticator, token)).toMatchObject({
      annotations: {
        'authentication.k8s.io/stale-token':
          'subject: system:serviceaccount:ns:sa, seconds after warning threshold: 10',
      },
    });
  });

  test('accepts all configured issuers', async () => {
    const { authenticator, request } = setting();
    expect(await outcome(authenticator, await sign(request, rsa, 'https://old'))).toHaveProperty('user');
    expect(await outcome(authenticator, await sign(request, rsa, 'https://other'))).toBeUndefined();
  });
});

describe('forged and malformed tokens', () => {
  const BAD = 'go-jose/go-jose: error in cryptographic primitive';
  const encode = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString('base64url');
  type Parts = readonly [string, string, string];
  const cases: readonly (readonly [string, (parts: Parts) => string, string | undefined])[] = [
    ['alg none', ([, p]) => `${encode({ alg: 'none' })}.${p}.`, BAD],
    ['alg none, signature kept', ([, p, s]) => `${encode({ alg: 'none' })}.${p}.${s}`, BAD],
    ['HMAC', ([, p, s]) => `${encode({ alg: 'HS256' })}.${p}.${s}`, BAD],
    ['ECDSA for an RSA key', ([, p, s]) => `${encode({ alg: 'ES256' })}.${p}.${s}`, BAD],
    [
      'unknown key',
      ([, p, s]) => `${encode({ alg: 'RS256', kid: 'x' })}.${p}.${s}`,
      'invalid signature, no keys found',
    ],
    ['critical header', ([, p, s]) => `${encode({ alg: 'RS256', crit: ['x'] })}.${p}.${s}`, BAD],
    ['no signature', ([h, p]) => `${h}.${p}.`, BAD],
    ['signature cut', ([h, p, s]) => `${h}.${p}.${s.slice(0, -4)}`, BAD],
    [
      'other claims',
      ([h, p, s]) =>
        `${h}.${encode({ ...(JSON.parse(Buffer.from(p, 'base64url').toString()) as object), sub: 'x' })}.${s}`,
      BAD,
    ],
    ['two parts', ([h, p]) => `${h}.${p}`, undefined],
    ['four parts', ([h, p, s]) => `${h}.${p}.${s}.x`, undefined],
    ['claims cut', ([h, p, s]) => `${h}.${p.slice(0, -7)}.${s}`, undefined],
    ['no base64', ([h, p, s]) => `${h}.${p}+.${s}`, undefined],
    ['no JSON', ([h, , s]) => `${h}.${Buffer.from('{{').toString('base64url')}.${s}`, undefined],
    ['a megabyte', () => 'x'.repeat(1 << 20), undefined],
    ['a megabyte of claims', ([h, , s]) => `${h}.${encode({ iss: ISSUER, x: 'x'.repeat(1 << 20) })}.${s}`, BAD],
    ['nothing', () => '', undefined],
    ['dots', () => '..', undefined],
  ];
  test.each(cases)('%s', async (_name, forge, expected) => {
    const { authenticator, request } = setting();
    const parts = (await sign(request)).split('.') as [string, string, string];
    expect(await outcome(authenticator, forge(parts))).toBe(expected);
  });

  test('refuses a foreign key', async () => {
    const { authenticator, request } = setting();
    expect(await outcome(authenticator, await sign(request, foreign))).toBe('invalid signature, no keys found');
  });

  test('refuses HMAC with the public key as the secret', async () => {
    const { authenticator } = setting();
    const { id, key } = verificationKey(rsa);
    const secret = Buffer.from(key.export({ type: 'spki', format: 'pem' }).toString());
    const token = await new SignJWT({ iss: ISSUER }).setProtectedHeader({ alg: 'HS256', kid: id }).sign(secret);
    expect(await outcome(authenticator, token)).toBe(BAD);
  });

  test('claims of wrong types are refused, not an internal error', async () => {
    const { authenticator } = setting();
    for (const claims of [
      { exp: 'x' },
      { aud: 5 },
      { 'kubernetes.io': [] },
      { 'kubernetes.io': { pod: 'x' } },
      { sub: {} },
    ]) {
      const signer = new CompactSign(Buffer.from(JSON.stringify({ iss: ISSUER, ...claims })));
      const token = await signer.setProtectedHeader({ alg: 'RS256' }).sign(rsa);
      expect(await outcome(authenticator, token)).toMatch(/^claim /);
    }
  });
});

describe('tokens in Secrets', () => {
  const INVALID_SINCE = 'kubernetes.io/legacy-token-invalid-since';

  async function legacy(secret: Partial<KubeObject> = {}, account: Partial<KubeObject> = {}, lookup = true) {
    const made = setting({ lookup });
    const token = await new JwtSigner(rsa, ISSUER).signForSecret({
      namespace: 'ns',
      serviceAccount: ref('sa'),
      secretName: 'secret',
    });
    made.objects.put('secrets', 'secret', { data: { token: Buffer.from(token).toString('base64') }, ...secret });
    made.objects.put('serviceaccounts', 'sa', account);
    return { ...made, token };
  }

  test('returns the user of the token, and labels its Secret once a day', async () => {
    const { authenticator, token, marked } = await legacy();
    const user = {
      name: 'system:serviceaccount:ns:sa',
      uid: 'sa-uid',
      groups: ['system:serviceaccounts', 'system:serviceaccounts:ns'],
      extra: {},
    };
    expect(await outcome(authenticator, token)).toMatchObject({
      user,
      audiences: ['api'],
      annotations: {
        'authentication.k8s.io/legacy-token': user.name,
        'authentication.k8s.io/legacy-token-manual-secret': 'secret',
      },
    });
    expect(marked).toEqual(['secret kubernetes.io/legacy-token-last-used=2026-01-01']);
    const labels = { 'kubernetes.io/legacy-token-last-used': '2026-01-01' };
    const labelled = await legacy({ metadata: { labels } });
    expect(await outcome(labelled.authenticator, labelled.token)).toHaveProperty('user');
    expect(labelled.marked).toEqual([]);
    const other = await legacy({ data: { token: Buffer.from('other').toString('base64') } });
    expect(await outcome(other.authenticator, other.token)).toBe("Token does not match server's copy");
    expect(jest.mocked(secrets.sameSecret)).toHaveBeenLastCalledWith('other', other.token);
  });

  test('warns about a token that the account references', async () => {
    const { authenticator, token } = await legacy({}, { secrets: [{ name: 'secret' }] });
    expect(await outcome(authenticator, token)).toMatchObject({
      warnings: [expect.stringContaining('TokenRequest API')],
    });
  });

  test('refuses a token that is marked invalid', async () => {
    const { authenticator, token, objects } = await legacy();
    const data = { token: Buffer.from(token).toString('base64') };
    objects.put('secrets', 'secret', { data, metadata: { labels: { [INVALID_SINCE]: '2025-01-01' } } });
    expect(await outcome(authenticator, token)).toMatch(
      /^the token in secret ns\/secret for service account ns\/sa has been marked invalid\./,
    );
  });

  test('are revoked with their Secret or account, unless lookup is off', async () => {
    const { authenticator, token, objects } = await legacy();
    objects.remove('serviceaccounts', 'sa');
    expect(await outcome(authenticator, token)).toBe('serviceaccounts "sa" not found');
    objects.remove('secrets', 'secret');
    expect(await outcome(authenticator, token)).toBe('Token has been invalidated');
    const trusting = await legacy({}, {}, false);
    trusting.objects.remove('secrets', 'secret');
    expect(await outcome(trusting.authenticator, trusting.token)).toHaveProperty('user');
  });
});

describe('keys', () => {
  const pem = (key: KeyObject): string => key.export({ type: 'pkcs8', format: 'pem' }).toString();
  const publicPem = (key: KeyObject): string =>
    verificationKey(key).key.export({ type: 'spki', format: 'pem' }).toString();

  test('a file may have several private and public keys, each of which counts once', () => {
    const keys = readVerificationKeys(`${pem(rsa)}\n# text\n${publicPem(ec)}${publicPem(rsa)}`);
    expect(keys.map(({ algorithm }) => algorithm)).toEqual(['RS256', 'ES384', 'RS256']);
    expect(uniqueKeys(keys)).toHaveLength(2);
  });

  test('signing uses the private key', () => {
    expect(readSigningKey(publicPem(ec) + pem(rsa)).equals(createPrivateKey(pem(rsa)))).toBe(true);
    expect(() => readSigningKey(publicPem(ec))).toThrow('does not contain a valid RSA or ECDSA private key');
  });

  test.each([
    ['nothing', () => '', 'does not contain any valid RSA or ECDSA public keys'],
    ['short RSA', () => pem(generateKeyPairSync('rsa', { modulusLength: 1024 }).privateKey), 'at least 2048 bits'],
    ['Ed25519', () => pem(generateKeyPairSync('ed25519').privateKey), 'must be RSA, or ECDSA'],
    [
      'another curve',
      () => pem(generateKeyPairSync('ec', { namedCurve: 'secp256k1' }).privateKey),
      'must be RSA, or ECDSA',
    ],
  ])('%s is refused', (_name, text, message) => {
    expect(() => readVerificationKeys(text())).toThrow(message);
  });
});

test('verified tokens are kept by bytes, and one with a very long list of audiences not at all', async () => {
  const { authenticator, request } = setting();
  const before = (await cacheBytes('service_account_tokens')) ?? 0;
  const kept = async (): Promise<number> => ((await cacheBytes('service_account_tokens')) ?? NaN) - before;
  const long = await sign({ ...request, audiences: ['api', 'x'.repeat(400_000)] }, ec);
  expect(await outcome(authenticator, long)).toHaveProperty('user');
  expect(await kept()).toBe(0);
  for (let i = 0; i < 120; i++) {
    const token = await sign({ ...request, audiences: ['api', `${String(i)}${'x'.repeat(150_000)}`] }, ec);
    await outcome(authenticator, token);
  }
  expect(await kept()).toBeGreaterThan(16 << 20);
  expect(await kept()).toBeLessThanOrEqual(32 << 20);
});
