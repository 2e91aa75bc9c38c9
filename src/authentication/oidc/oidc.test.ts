import { generateKeyPairSync, type KeyObject } from 'node:crypto';
import { CompactSign } from 'jose';
import { aggregate } from '../../apimachinery/meta/field-error.js';
import { FakeClock } from '../../../test/fakes/util/clock.js';
import { NEVER_ABORTED } from '../../util/never-aborted.js';
import { AuthenticationError } from '../authenticator/interfaces.js';
import type { OidcDependencies } from './authenticator.js';
import type { ProviderClient } from './http.js';
import { loadAuthenticationConfiguration } from './load.js';
import { OidcSet } from './oidc-set.js';
import { ReloadingOidc } from './reload.js';
import { SIGNING_ALGORITHMS } from './types.js';
import { validateAuthenticationConfiguration } from './validate.js';

const ISSUER = 'https://issuer.example';
const key = generateKeyPairSync('rsa', { modulusLength: 2048 });
const second = generateKeyPairSync('ec', { namedCurve: 'P-256' });

const configuration = (jwt: object, more: object = {}): string =>
  JSON.stringify({
    apiVersion: 'apiserver.config.k8s.io/v1beta1',
    kind: 'AuthenticationConfiguration',
    jwt: [
      {
        issuer: { url: ISSUER, audiences: ['client'] },
        claimMappings: { username: { claim: 'sub', prefix: '' } },
        ...jwt,
      },
    ],
    ...more,
  });

/** An issuer that answers without a network. */
class FakeIssuer implements ProviderClient {
  readonly asked: string[] = [];
  readonly documents = new Map<string, string | (() => Promise<string>)>();
  keys: readonly { readonly key: KeyObject; readonly kid: string }[] = [{ key: key.publicKey, kid: '1' }];

  constructor() {
    this.documents.set(
      `${ISSUER}/.well-known/openid-configuration`,
      JSON.stringify({ issuer: ISSUER, jwks_uri: `${ISSUER}/keys` }),
    );
  }

  get(url: string): Promise<string> {
    this.asked.push(url);
    if (url === `${ISSUER}/keys` && !this.documents.has(url)) {
      const keys = this.keys.map(({ key: each, kid }) => ({ ...each.export({ format: 'jwk' }), kid, use: 'sig' }));
      return Promise.resolve(JSON.stringify({ keys }));
    }
    const document = this.documents.get(url);
    if (document === undefined) return Promise.reject(new Error('404'));
    return typeof document === 'string' ? Promise.resolve(document) : document();
  }

  close(): void {
    this.documents.clear();
  }
}

const metrics = { authenticated: () => undefined, keysFetched: () => undefined, dropped: () => undefined };

function setting(jwt: object = {}) {
  const clock = new FakeClock();
  const issuer = new FakeIssuer();
  const logged: string[] = [];
  const dependencies: OidcDependencies = {
    algorithms: SIGNING_ALGORITHMS,
    client: () => issuer,
    clock,
    metrics,
    onError: (text) => logged.push(text),
  };
  const { authenticators, errors } = validateAuthenticationConfiguration(
    loadAuthenticationConfiguration(configuration(jwt)),
    [],
  );
  expect(aggregate(errors)).toBe('[]');
  return { clock, issuer, logged, dependencies, set: new OidcSet(authenticators, dependencies) };
}

function token(
  clock: FakeClock,
  claims: object = {},
  header: object = {},
  signer: KeyObject = key.privateKey,
): Promise<string> {
  const now = Math.floor(clock.now() / 1000);
  const all = { iss: ISSUER, aud: 'client', sub: 'jane', exp: now + 60, ...claims };
  return new CompactSign(Buffer.from(JSON.stringify(all)))
    .setProtectedHeader({ alg: 'RS256', kid: '1', ...header })
    .sign(signer);
}

async function outcome(set: { authenticateToken: OidcSet['authenticateToken'] }, text: string): Promise<unknown> {
  try {
    return (await set.authenticateToken(text, [], NEVER_ABORTED))?.user;
  } catch (error) {
    if (error instanceof AuthenticationError) return error.message;
    throw error;
  }
}

describe('mapping', () => {
  const cel = (mappings: object, more: object = {}): object => ({ claimMappings: mappings, ...more });
  const cases: readonly (readonly [string, object, object, unknown])[] = [
    ['claim', {}, {}, { name: 'jane', uid: '', groups: [], extra: {} }],
    ['credential id', {}, { jti: 'j' }, { extra: { 'authentication.kubernetes.io/credential-id': ['JTI=j'] } }],
    [
      'prefixes',
      cel({ username: { claim: 'sub', prefix: 'u:' }, groups: { claim: 'roles', prefix: 'g:' }, uid: { claim: 'id' } }),
      { roles: ['a', 'b'], id: '7' },
      { name: 'u:jane', uid: '7', groups: ['g:a', 'g:b'] },
    ],
    [
      'one group as a text',
      cel({ username: { claim: 'sub', prefix: '' }, groups: { claim: 'roles', prefix: '' } }),
      { roles: 'a' },
      { groups: ['a'] },
    ],
    [
      'expressions',
      cel({
        username: { expression: 'claims.sub + "@" + claims.org.name' },
        groups: { expression: 'claims.roles.split(",")' },
        uid: { expression: 'string(int(claims.number))' },
        extra: [
          { key: 'example.com/a', valueExpression: 'claims.org.name' },
          { key: 'example.com/none', valueExpression: '""' },
        ],
      }),
      { org: { name: 'acme' }, roles: 'x,y', number: 5 },
      { name: 'jane@acme', groups: ['x', 'y'], uid: '5', extra: { 'example.com/a': ['acme'] } },
    ],
    [
      'numbers are doubles',
      { claimValidationRules: [{ expression: 'type(claims.n) == double' }] },
      { n: 1 },
      { name: 'jane' },
    ],
    [
      'empty user name',
      cel({ username: { expression: '""' } }),
      {},
      'oidc: empty username via CEL expression is not allowed',
    ],
    [
      'user name that is no text',
      cel({ username: { expression: 'claims.n' } }),
      { n: 1 },
      'oidc: error evaluating username claim expression: username claim expression must return a string',
    ],
    [
      'claim missing',
      cel({ username: { claim: 'upn', prefix: '' } }),
      {},
      'oidc: parse username claims "upn": claim not present',
    ],
    [
      'email not verified',
      cel({ username: { claim: 'email', prefix: '' } }),
      { email: 'a@b', email_verified: false },
      'oidc: email not verified',
    ],
    [
      'email verified',
      cel({ username: { claim: 'email', prefix: '' } }),
      { email: 'a@b', email_verified: true },
      { name: 'a@b' },
    ],
    [
      'required claim',
      { claimValidationRules: [{ claim: 'hd', requiredValue: 'x' }] },
      { hd: 'y' },
      'oidc: required claim hd value does not match. Got = y, want = x',
    ],
    [
      'required claim absent',
      { claimValidationRules: [{ claim: 'hd', requiredValue: 'x' }] },
      {},
      'oidc: required claim hd not present in ID token',
    ],
    [
      'claim rule',
      { claimValidationRules: [{ expression: 'claims.exp - claims.iat <= 60', message: 'lives too long' }] },
      { iat: 0 },
      "oidc: error evaluating claim validation expression: validation expression 'claims.exp - claims.iat <= 60' failed: lives too long",
    ],
    [
      'user rule',
      { userValidationRules: [{ expression: '!user.username.startsWith("j")', message: 'no j' }] },
      {},
      'oidc: error evaluating user info validation rule: validation expression \'!user.username.startsWith("j")\' failed: no j',
    ],
  ];
  test.each(cases)('%s', async (_name, jwt, claims, expected) => {
    const { set, clock } = setting(jwt);
    await set.start();
    const result = await outcome(set, await token(clock, claims));
    if (typeof expected === 'string') expect(result).toBe(expected);
    else expect(result).toMatchObject(expected as object);
  });
});

describe('verification', () => {
  const NO_KEY = 'oidc: verify token: failed to verify signature: failed to verify id token signature';
  const cases: readonly (readonly [string, object, object, KeyObject, string])[] = [
    [
      'expired',
      { exp: 1 },
      {},
      key.privateKey,
      'oidc: verify token: oidc: token is expired (Token Expiry: 1970-01-01 00:00:01 +0000 UTC)',
    ],
    [
      'without expiry',
      { exp: undefined },
      {},
      key.privateKey,
      'oidc: verify token: oidc: token is expired (Token Expiry: 1970-01-01 00:00:00 +0000 UTC)',
    ],
    ['not yet', { nbf: 4e9 }, {}, key.privateKey, 'before the nbf (not before) time'],
    [
      'for somebody else',
      { aud: ['x', 'y'] },
      {},
      key.privateKey,
      'oidc: verify token: oidc: expected audience "client" got ["x" "y"]',
    ],
    ['signed by another key', {}, { alg: 'ES256' }, second.privateKey, NO_KEY],
    ['naming an unknown key', {}, { kid: 'x' }, key.privateKey, NO_KEY],
  ];
  test.each(cases)('%s', async (_name, claims, header, signer, expected) => {
    const { set, clock } = setting();
    await set.start();
    expect(await outcome(set, await token(clock, claims, header, signer))).toContain(expected);
  });

  test.each(['none', 'HS256'])('alg %s', async (alg) => {
    const { set, clock } = setting();
    await set.start();
    const [, claims = ''] = (await token(clock)).split('.');
    const forged = `${Buffer.from(JSON.stringify({ alg })).toString('base64url')}.${claims}.AAAA`;
    expect(await outcome(set, forged)).toMatch(`signed with unsupported algorithm, expected ["ES256" `);
  });

  test('tokens of other issuers, and malformed tokens, are ignored', async () => {
    const { set, clock, issuer } = setting();
    await set.start();
    const asked = issuer.asked.length;
    for (const text of [await token(clock, { iss: 'https://other' }), 'x', 'a.b.c', '']) {
      expect(await outcome(set, text)).toBeUndefined();
    }
    expect(issuer.asked).toHaveLength(asked);
  });

  test('one of several audiences is enough', async () => {
    const { set, clock } = setting({ issuer: { url: ISSUER, audiences: ['a', 'b'], audienceMatchPolicy: 'MatchAny' } });
    await set.start();
    expect(await outcome(set, await token(clock, { aud: ['b', 'z'] }))).toMatchObject({ name: 'jane' });
  });

  test('new keys are fetched, old ones dropped, and unknown keys do not cause constant fetches', async () => {
    const { set, clock, issuer } = setting();
    await set.start();
    expect(await outcome(set, await token(clock))).toMatchObject({ name: 'jane' });
    const fetches = (): number => issuer.asked.filter((url) => url.endsWith('/keys')).length;
    issuer.keys = [{ key: second.publicKey, kid: '2' }];
    expect(await outcome(set, await token(clock, {}, { kid: '2', alg: 'ES256' }, second.privateKey))).toMatchObject({
      name: 'jane',
    });
    expect(fetches()).toBe(2);
    for (let i = 0; i < 20; i++) expect(await outcome(set, await token(clock))).toBe(NO_KEY);
    expect(fetches()).toBe(6);
    clock.advance(1_000);
    for (let i = 0; i < 5; i++) expect(await outcome(set, await token(clock))).toBe(NO_KEY);
    expect(fetches()).toBe(7);
  });
});

describe('providers that misbehave', () => {
  test('not available yet: tokens are refused, and accepted after a retry', async () => {
    const { set, clock, issuer, logged } = setting();
    const url = `${ISSUER}/.well-known/openid-configuration`;
    const document = issuer.documents.get(url);
    issuer.documents.delete(url);
    await set.start();
    expect(await outcome(set, await token(clock))).toBe('oidc: authenticator not initialized');
    expect(logged.join()).toContain('404');
    if (document !== undefined) issuer.documents.set(url, document);
    clock.advance(10_000);
    await new Promise(setImmediate);
    expect(set.problems).toEqual([]);
    expect(await outcome(set, await token(clock))).toMatchObject({ name: 'jane' });
  });

  test.each([
    [
      'another issuer',
      JSON.stringify({ issuer: 'https://evil', jwks_uri: 'https://evil/keys' }),
      'issuer did not match',
    ],
    ['not JSON', '<html>', 'is not JSON'],
    ['no keys', JSON.stringify({ issuer: ISSUER }), 'did not return JWKS URL'],
  ])('%s', async (_name, document, problem) => {
    const { set, issuer, clock } = setting();
    issuer.documents.set(`${ISSUER}/.well-known/openid-configuration`, document);
    await set.start();
    expect(set.problems.join()).toContain(problem);
    expect(await outcome(set, await token(clock))).toBe('oidc: authenticator not initialized');
  });

  test.each(['{}', '[]', '{"keys":[{"kty":"oct","k":"AAAA","kid":"1"},5,null]}', 'x'])('key set %s', async (keys) => {
    const { set, issuer, clock } = setting();
    issuer.documents.set(`${ISSUER}/keys`, keys);
    await set.start();
    expect(await outcome(set, await token(clock))).toMatch(/^oidc: verify token: failed to verify signature/);
  });
});

test('distributed groups claims', async () => {
  const { set, clock, issuer } = setting({
    claimMappings: { username: { claim: 'sub', prefix: '' }, groups: { claim: 'groups', prefix: 'g:' } },
  });
  await set.start();
  issuer.documents.set('https://claims.example/jane', await token(clock, { groups: ['a', 'b'] }));
  const claims = {
    _claim_names: { groups: 'src' },
    _claim_sources: { src: { endpoint: 'https://claims.example/jane', access_token: 't' } },
  };
  expect(await outcome(set, await token(clock, claims))).toMatchObject({ groups: ['g:a', 'g:b'] });
  issuer.documents.set(
    'https://claims.example/jane',
    await token(clock, { groups: ['root'] }, {}, generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey),
  );
  expect(await outcome(set, await token(clock, claims))).toMatch(
    /^oidc: could not expand distributed claims: verify distributed claim token/,
  );
});

describe('validation', () => {
  const issuer = (more: object): object => ({ issuer: { url: ISSUER, audiences: ['client'], ...more } });
  const names = (more: object): object => ({ claimMappings: { username: { claim: 'sub', prefix: '' }, ...more } });
  const extra = (key_: string): object => names({ extra: [{ key: key_, valueExpression: '"x"' }] });
  const cases: readonly (readonly [string, object, string])[] = [
    ['no URL', issuer({ url: '' }), 'jwt[0].issuer.url: Required value'],
    ['http', issuer({ url: 'http://x' }), 'jwt[0].issuer.url: Invalid value: "http://x": URL scheme must be https'],
    [
      'query',
      issuer({ url: 'https://x?y' }),
      'jwt[0].issuer.url: Invalid value: "https://x?y": URL must not contain a query',
    ],
    [
      'http, user, query and fragment',
      issuer({ discoveryURL: 'http://u:p@x?a#b' }),
      [
        'URL scheme must be https',
        'URL must not contain a username or password',
        'URL must not contain a query',
        'URL must not contain a fragment',
      ]
        .map((why) => `jwt[0].issuer.discoveryURL: Invalid value: "http://u:p@x?a#b": ${why}`)
        .join(', '),
    ],
    ['password', issuer({ url: 'https://u:p@x' }), 'URL must not contain a username or password'],
    ['own issuer', issuer({ url: 'https://own' }), 'URL must not overlap with disallowed issuers: [https://own]'],
    ['same discovery', issuer({ discoveryURL: `${ISSUER}/` }), 'discoveryURL must be different from URL'],
    [
      'no audience',
      issuer({ audiences: [] }),
      'jwt[0].issuer.audiences: Required value: at least one jwt[0].issuer.audiences is required',
    ],
    [
      'audience twice',
      issuer({ audiences: ['a', 'a'], audienceMatchPolicy: 'MatchAny' }),
      'jwt[0].issuer.audiences[1]: Duplicate value: "a"',
    ],
    [
      'no policy',
      issuer({ audiences: ['a', 'b'] }),
      'jwt[0].issuer.audienceMatchPolicy: Invalid value: "": audienceMatchPolicy must be MatchAny for multiple audiences',
    ],
    [
      'broken CA',
      issuer({ certificateAuthority: 'x' }),
      'jwt[0].issuer.certificateAuthority: Invalid value: "<omitted>"',
    ],
    [
      'no user name',
      { claimMappings: {} },
      'jwt[0].claimMappings.username: Required value: claim or expression is required',
    ],
    [
      'no prefix',
      { claimMappings: { username: { claim: 'sub' } } },
      'jwt[0].claimMappings.username.prefix: Required value: prefix is required when claim is set',
    ],
    [
      'both',
      { claimMappings: { username: { claim: 'sub', expression: '"x"' } } },
      "claim and expression can't both be set",
    ],
    ['unknown variable', { claimMappings: { username: { expression: 'foo' } } }, "undeclared reference to 'foo'"],
    [
      'rule that is no bool',
      { claimValidationRules: [{ expression: '"x"' }] },
      'jwt[0].claimValidationRules[0].expression: Invalid value: "\\"x\\"": must evaluate to bool',
    ],
    ['user field', { userValidationRules: [{ expression: 'user.foo == ""' }] }, "undefined field 'foo'"],
    [
      'email unverified',
      { claimMappings: { username: { expression: 'claims.email' } } },
      'claims.email_verified must be used in',
    ],
    [
      'optional email unverified',
      { claimMappings: { username: { expression: 'claims.?email.orValue("")' } } },
      'claims.email_verified must be used in',
    ],
    [
      'reserved key',
      extra('foo.k8s.io/x'),
      'k8s.io, kubernetes.io and their subdomains are reserved for Kubernetes use',
    ],
    ['key without domain', extra('x'), 'must be a domain-prefixed path (such as "acme.io/foo")'],
    ['upper case', extra('example.com/X'), 'must be lowercase'],
    [
      'rule twice',
      { claimValidationRules: [{ claim: 'a' }, { claim: 'a' }] },
      'jwt[0].claimValidationRules[1].claim: Duplicate value: "a"',
    ],
  ];
  test.each(cases)('%s', (_name, jwt, expected) => {
    const loaded = loadAuthenticationConfiguration(configuration(jwt));
    expect(aggregate(validateAuthenticationConfiguration(loaded, ['https://own']).errors)).toContain(expected);
  });

  test('claims.email may be used if a rule checks email_verified', () => {
    const jwt = {
      claimMappings: { username: { expression: 'claims.email' } },
      claimValidationRules: [{ expression: 'claims.?email_verified.orValue(true) == true' }],
    };
    expect(validateAuthenticationConfiguration(loadAuthenticationConfiguration(configuration(jwt)), []).errors).toEqual(
      [],
    );
  });

  test('at most 64 authenticators, with unique issuers', () => {
    const parsed = JSON.parse(configuration({})) as { jwt: object[] };
    const many = JSON.stringify({ ...parsed, jwt: Array.from({ length: 65 }, () => parsed.jwt[0]) });
    const { errors } = validateAuthenticationConfiguration(loadAuthenticationConfiguration(many), []);
    expect(aggregate(errors)).toBe('jwt: Too many: 65: must have at most 64 items');
    const two = JSON.stringify({ ...parsed, jwt: [parsed.jwt[0], parsed.jwt[0]] });
    const twice = validateAuthenticationConfiguration(loadAuthenticationConfiguration(two), []);
    expect(aggregate(twice.errors)).toBe(`jwt[1].issuer.url: Duplicate value: "${ISSUER}"`);
  });

  test.each([
    ['', 'empty config data'],
    ['kind: AuthenticationConfiguration', "Object 'apiVersion' is missing"],
    ['{"apiVersion":"v1","kind":"Pod"}', 'no kind "Pod" is registered for version "v1"'],
    [configuration({ foo: 1 }), 'strict decoding error: unknown field "jwt[0].foo"'],
    [configuration({}, { jwt: 5 }), 'cannot unmarshal number into Go struct field jwt'],
  ])('file %#', (text, message) => {
    expect(() => loadAuthenticationConfiguration(text)).toThrow(message);
  });
});

describe('reload', () => {
  function reloading() {
    const made = setting();
    let text = configuration({});
    const statuses: string[] = [];
    let changed = (): void => undefined;
    const loaded = loadAuthenticationConfiguration(text);
    const { authenticators } = validateAuthenticationConfiguration(loaded, []);
    const failures: string[] = [];
    const oidc = new ReloadingOidc(text, loaded, authenticators, {
      read: () => Promise.resolve(text),
      watch: (callback) => {
        changed = callback;
      },
      disallowedIssuers: [],
      oidc: made.dependencies,
      metrics: { recordReload: (status) => statuses.push(status), setActiveHash: () => undefined },
      clock: made.clock,
      onError: (why) => failures.push(why),
    });
    const ended = new AbortController();
    oidc.start(ended.signal);
    const write = async (next: string): Promise<void> => {
      text = next;
      changed();
      for (let i = 0; i < 5; i++) await new Promise(setImmediate);
    };
    return { ...made, oidc, write, statuses, failures, ended };
  }

  test('a changed file takes effect, an invalid one does not', async () => {
    const { oidc, write, statuses, failures, clock, ended } = reloading();
    await write(configuration({}));
    expect(await outcome(oidc, await token(clock))).toMatchObject({ name: 'jane' });
    await write('nonsense: [');
    await write(configuration({ claimMappings: {} }));
    await write(configuration({}, { anonymous: { enabled: true } }));
    expect(failures.join()).toContain('changed from initial configuration file');
    expect(await outcome(oidc, await token(clock))).toMatchObject({ name: 'jane' });
    await write(configuration({ claimMappings: { username: { claim: 'sub', prefix: 'new:' } } }));
    expect(await outcome(oidc, await token(clock))).toMatchObject({ name: 'new:jane' });
    expect(statuses).toEqual(['failure', 'failure', 'failure', 'success']);
    ended.abort();
  });

  test('if a provider does not respond, the old file stays in force, and the provider is retried', async () => {
    const { oidc, write, statuses, clock, issuer, ended } = reloading();
    await write(configuration({}));
    issuer.documents.set('https://slow/.well-known/openid-configuration', () => new Promise(() => undefined));
    await write(configuration({ issuer: { url: 'https://slow', audiences: ['client'] } }));
    expect(await outcome(oidc, await token(clock))).toMatchObject({ name: 'jane' });
    clock.advance(60_000);
    for (let i = 0; i < 5; i++) await new Promise(setImmediate);
    expect(statuses).toEqual(['failure']);
    ended.abort();
  });
});
