import { createHmac, createPublicKey, type KeyObject } from 'node:crypto';
import { renameSync, writeFileSync } from 'node:fs';
import type { ServerResponse } from 'node:http';
import { join } from 'node:path';
import { SignJWT } from 'jose';
import { type Answer, dig, Http1, treeOf } from '../client.js';
import { eventually, scratchFolder, TestServer } from '../server.js';
import { TestCa } from './certificates.js';
import { BadProvider, OpenIdProvider, signingKey, type SigningKey, wellBehaved } from './openid.js';

const REVIEW = { apiVersion: 'authentication.k8s.io/v1', kind: 'SelfSubjectReview' };
const REVIEWS = '/apis/authentication.k8s.io/v1/selfsubjectreviews';
const ELSEWHERE = 'https://issuer.invalid/tenant';
const now = (): number => Math.floor(Date.now() / 1000);

const json = (response: ServerResponse, document: object): void => {
  response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(document));
};

describe('OpenID providers by AuthenticationConfiguration', () => {
  const ca = new TestCa();
  const foreignCa = new TestCa('foreign-ca');
  const rsa = signingKey('rsa-1', 'RS256');
  const ec = signingKey('ec-1', 'ES256');
  const evil = signingKey('rsa-1', 'RS256');
  const stops: (() => void)[] = [];
  let server: TestServer | undefined;
  const folder = scratchFolder(async () => {
    for (const stop of stops) stop();
    await server?.stop('SIGKILL');
  });
  const file = join(folder, 'authentication.yaml');
  /** The issuer URL of each provider, by the name of its special behavior. */
  const issuers: Record<string, string> = {};
  const held: ServerResponse[] = [];
  const heldKeys: ServerResponse[] = [];

  const bad = async (name: string, respond: Parameters<typeof BadProvider.start>[1], from = ca): Promise<void> => {
    const started = await BadProvider.start(from, respond);
    stops.push(() => {
      started.stop();
    });
    issuers[name] = started.issuer;
  };
  const issuerOf = (name: string): string => issuers[name] ?? '';

  const jwt = (name: string, mappings: object, more: object = {}): object => ({
    issuer: { url: issuerOf(name), audiences: ['annex'], certificateAuthority: ca.pem },
    claimMappings: { username: { claim: 'sub', prefix: `${name}:` }, ...mappings },
    ...more,
  });
  const configuration = (prefix: string): string =>
    JSON.stringify({
      apiVersion: 'apiserver.config.k8s.io/v1beta1',
      kind: 'AuthenticationConfiguration',
      jwt: [
        {
          issuer: {
            url: issuerOf('real'),
            audiences: ['annex', 'other'],
            audienceMatchPolicy: 'MatchAny',
            certificateAuthority: ca.pem,
          },
          claimValidationRules: [
            { claim: 'hd', requiredValue: 'example.com' },
            { expression: 'claims.exp - claims.iat <= 86400', message: 'lives longer than a day' },
          ],
          claimMappings: {
            username: { expression: `"${prefix}" + claims.sub` },
            groups: { expression: 'claims.roles.split(",")' },
            uid: { claim: 'oid' },
            extra: [{ key: 'example.com/tenant', valueExpression: 'claims.hd' }],
          },
          userValidationRules: [{ expression: '!user.username.endsWith("root")', message: 'not root' }],
        },
        {
          issuer: {
            url: ELSEWHERE,
            discoveryURL: `${issuerOf('elsewhere')}/found/here`,
            audiences: ['annex'],
            certificateAuthority: ca.pem,
          },
          claimMappings: { username: { claim: 'sub', prefix: 'elsewhere:' } },
        },
        jwt('distributed', { groups: { claim: 'groups', prefix: 'd:' } }),
        ...['hanging', 'hangingKeys', 'redirecting', 'impostor', 'foreign', 'noKeys'].map((name) => jwt(name, {})),
      ],
    });

  beforeAll(async () => {
    const provider = await OpenIdProvider.start(ca, [rsa, ec], {});
    stops.push(() => {
      provider.stop();
    });
    issuers['real'] = provider.issuer;
    await bad('elsewhere', (path, issuer, response) => {
      if (path === '/found/here') json(response, { issuer: ELSEWHERE, jwks_uri: `${issuer}/keys` });
      else wellBehaved([ec])(path, issuer, response);
    });
    await bad('distributed', (path, issuer, response, request) => {
      if (!path.startsWith('/groups/')) {
        wellBehaved([rsa])(path, issuer, response);
        return;
      }
      const signer = path.endsWith('evil') ? evil : rsa;
      if (request.headers.authorization !== 'Bearer groups-token') response.writeHead(401).end();
      else void sign(signer, { iss: issuer, groups: ['a', 'b'] }).then((text) => response.end(text));
    });
    await bad('hanging', (_path, _issuer, response) => held.push(response));
    await bad('hangingKeys', (path, issuer, response) => {
      if (path === '/keys') heldKeys.push(response);
      else wellBehaved([rsa])(path, issuer, response);
    });
    await bad('redirecting', (path, _issuer, response) => {
      response.writeHead(302, { location: issuerOf('real') + path }).end();
    });
    await bad('impostor', (_path, issuer, response) => {
      json(response, { issuer: issuerOf('real'), jwks_uri: `${issuer}/keys` });
    });
    await bad('foreign', wellBehaved([rsa]), foreignCa);
    await bad('noKeys', (path, issuer, response) => {
      if (path === '/keys') json(response, { keys: [{ kty: 'oct', k: 'c2VjcmV0', kid: 'rsa-1' }] });
      else wellBehaved([rsa])(path, issuer, response);
    });
    writeFileSync(file, configuration('real:'));
    server = await TestServer.start(folder, ['--authentication-config', file]);
  });

  const started = (): TestServer => {
    if (server === undefined) throw new Error('not started');
    return server;
  };
  function sign(key: SigningKey, claims: object, header: object = {}, as?: KeyObject): Promise<string> {
    const all = {
      aud: 'annex',
      sub: 'jane',
      iat: now(),
      exp: now() + 600,
      hd: 'example.com',
      roles: 'a,b',
      oid: '7',
      ...claims,
    };
    const { kid, alg, privateKey } = key;
    return new SignJWT(all).setProtectedHeader({ alg, kid, ...header }).sign(as ?? privateKey);
  }
  const review = (token: string): Promise<Answer> =>
    new Http1(started()).send({ method: 'POST', path: REVIEWS, body: REVIEW, token });
  const whoIs = async (token: string) => {
    const answer = await review(token);
    return answer.status === 201 ? dig(treeOf(answer), 'status', 'userInfo') : answer.status;
  };
  const real = (claims: object = {}, header: object = {}, key = rsa): Promise<string> =>
    sign(key, { iss: issuerOf('real'), ...claims }, header);
  /** Discovery runs in the background. */
  const eventuallyIs = (token: string, user: object): Promise<true> =>
    eventually('the provider is found', async () => {
      const found = await whoIs(token);
      if (typeof found !== 'object') return undefined;
      expect(found).toMatchObject(user);
      return true;
    });

  test('CEL expressions map claims to a user', async () => {
    await eventuallyIs(await real(), {
      username: 'real:jane',
      uid: '7',
      groups: ['a', 'b', 'system:authenticated'],
      extra: { 'example.com/tenant': ['example.com'] },
    });
    expect(await whoIs(await real({ aud: ['x', 'other'] }))).toMatchObject({ username: 'real:jane' });
    expect(await whoIs(await real({}, {}, ec))).toMatchObject({ username: 'real:jane' });
  });

  test('a provider whose documents have another address', async () => {
    await eventuallyIs(await sign(ec, { iss: ELSEWHERE }), { username: 'elsewhere:jane' });
  });

  test('distributed group claims', async () => {
    const claims = (who: string): object => ({
      iss: issuerOf('distributed'),
      _claim_names: { groups: 'src' },
      _claim_sources: { src: { endpoint: `${issuerOf('distributed')}/groups/${who}`, access_token: 'groups-token' } },
    });
    await eventuallyIs(await sign(rsa, claims('jane')), {
      username: 'distributed:jane',
      groups: ['d:a', 'd:b', 'system:authenticated'],
    });
    expect(await whoIs(await sign(rsa, claims('evil')))).toBe(401);
    const without = {
      ...claims('jane'),
      _claim_sources: { src: { endpoint: `${issuerOf('distributed')}/groups/jane` } },
    };
    expect(await whoIs(await sign(rsa, without))).toBe(401);
  });

  const part = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url');
  const bodyOf = async (): Promise<string> => (await real()).split('.')[1] ?? '';
  const forgeries: readonly (readonly [string, () => Promise<string>])[] = [
    ['without algorithm', async () => `${part({ alg: 'none' })}.${await bodyOf()}.`],
    [
      'without algorithm, with a signature',
      async () => `${part({ alg: 'none', kid: 'rsa-1' })}.${await bodyOf()}.AAAA`,
    ],
    [
      'signed by the public key as if it were a password',
      async () => {
        const text = `${part({ alg: 'HS256', kid: 'rsa-1' })}.${await bodyOf()}`;
        const secret = createPublicKey(rsa.privateKey).export({ type: 'spki', format: 'pem' });
        return `${text}.${createHmac('sha256', secret).update(text).digest('base64url')}`;
      },
    ],
    ['signed by a key that only has the name', () => real({}, {}, evil)],
    [
      'with its own key in the header',
      () => real({}, { jwk: createPublicKey(evil.privateKey).export({ format: 'jwk' }) }, evil),
    ],
    ['with an address of its own keys', () => real({}, { jku: `${issuerOf('impostor')}/keys` }, evil)],
    ['expired', () => real({ iat: now() - 600, exp: now() - 60 })],
    ['not yet valid', () => real({ nbf: now() + 600 })],
    ['that never expires', () => real({ exp: undefined })],
    ['for somebody else', () => real({ aud: 'kubectl' })],
    ['without audience', () => real({ aud: undefined })],
    ['of an issuer with another spelling', () => real({ iss: `${issuerOf('real')}/` })],
    ['of an unknown issuer', () => real({ iss: 'https://unknown.invalid' })],
    ['without a claim that is required', () => real({ hd: 'example.org' })],
    ['that breaks a rule', () => real({ exp: now() + 200_000 })],
    ['of a user who must not be', () => real({ sub: 'root' })],
    ['with a claim of another type', () => real({ roles: 5 })],
    ['cut off', async () => (await real()).slice(0, -20)],
    ['without its signature', async () => (await real()).replace(/[^.]*$/, '')],
    ['with a part too many', async () => `${await real()}.e30`],
    ['that is not JSON', () => Promise.resolve('eyJ.eyJ.eyJ')],
  ];
  test.each(forgeries)('a token %s is rejected', async (_name, forge) => {
    const answer = await review(await forge());
    expect(answer.status).toBe(401);
    expect(treeOf(answer)).toMatchObject({ message: 'Unauthorized', reason: 'Unauthorized' });
  });

  test('a token of 64 KiB is accepted, and one of 1 MB is rejected unread', async () => {
    expect(await whoIs(await real({ filler: 'x'.repeat(48 * 1024) }))).toMatchObject({ username: 'real:jane' });
    expect(await whoIs(await real({ filler: 'x'.repeat(1 << 20) }))).toBe(431);
    expect(await whoIs(await real())).toMatchObject({ username: 'real:jane' });
  });

  test.each(['hanging', 'redirecting', 'impostor', 'foreign', 'noKeys'])(
    'a provider that is %s authenticates nobody',
    async (name) => {
      expect(await whoIs(await sign(rsa, { iss: issuerOf(name) }))).toBe(401);
    },
  );

  test('a provider that does not answer delays only its own users', async () => {
    const token = await sign(rsa, { iss: issuerOf('hangingKeys') });
    let settled = false;
    const ask = async (): Promise<number> => {
      settled = false;
      const { status } = await review(token);
      settled = true;
      return status;
    };
    let slow = ask();
    await eventually('the keys are asked for', async () => {
      if (heldKeys.length > 0) return true;
      // Until the provider's discovery document is loaded, its users are rejected at once.
      if (settled) {
        expect(await slow).toBe(401);
        slow = ask();
      }
      return undefined;
    });
    expect(await whoIs(await real())).toMatchObject({ username: 'real:jane' });
    // The request is not answered before the provider answers.
    expect(settled).toBe(false);
    for (const response of heldKeys) response.destroy();
    expect(await slow).toBe(401);
  });

  test('a changed file is applied, and a broken one is not', async () => {
    const write = (text: string): void => {
      writeFileSync(`${file}.new`, text);
      renameSync(`${file}.new`, file);
    };
    const metric = async (status: string): Promise<number> => {
      const { text } = await new Http1(started()).get('/metrics');
      const line = new RegExp(
        `^apiserver_authentication_config_controller_automatic_reload_last_timestamp_seconds{[^}]*status="${status}"[^}]*} (\\S+)$`,
        'm',
      ).exec(text);
      return Number(line?.[1] ?? 0);
    };
    const before = now() - 1;
    write('jwt: [');
    await eventually('the broken file is noticed', async () =>
      (await metric('failure')) >= before ? true : undefined,
    );
    expect(await whoIs(await real({ jti: 'a' }))).toMatchObject({ username: 'real:jane' });
    const changed = JSON.parse(configuration('new:')) as { jwt: object[] };
    write(JSON.stringify({ ...changed, jwt: changed.jwt.slice(0, 1) }));
    await eventually('the new file is in force', async () => ((await metric('success')) >= before ? true : undefined));
    expect(await whoIs(await real({ jti: 'b' }))).toMatchObject({ username: 'new:jane' });
    expect(await whoIs(await sign(ec, { iss: ELSEWHERE, jti: 'c' }))).toBe(401);
  });
});
