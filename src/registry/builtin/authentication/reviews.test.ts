import { ApiError } from '../../../apimachinery/meta/errors.js';
import type { JsonObject } from '../../../apimachinery/json/json.js';
import type { KubeObject } from '../../../apimachinery/meta/meta.js';
import {
  AuthenticationError,
  type AuthenticationResponse,
  type TokenAuthenticator,
} from '../../../authentication/authenticator/interfaces.js';
import type { RequestContext } from '../../../request/context.js';
import { FakeClock } from '../../../../test/fakes/util/clock.js';
import { authenticationReviews } from './reviews.js';

const context = {
  user: { name: 'u', uid: '', groups: ['g'], extra: { b: ['2'], a: ['1', '0'] } },
  signal: new AbortController().signal,
} as Partial<RequestContext> as RequestContext;

const admin = { name: 'admin', uid: 'a', groups: ['system:masters'], extra: {} };

async function create(
  kind: string,
  more: JsonObject,
  authenticate?: (audiences: readonly string[], token: string) => AuthenticationResponse | undefined,
  namespace = '',
): Promise<KubeObject | string> {
  const tokens: TokenAuthenticator = {
    authenticateToken: (token, audiences) => Promise.resolve().then(() => authenticate?.(audiences, token)),
  };
  const types = authenticationReviews({ tokens, apiAudiences: ['api'], clock: new FakeClock() });
  try {
    const object = { apiVersion: 'authentication.k8s.io/v1', kind, metadata: {}, ...more };
    return await types.find((type) => type.kind === kind)!.create(context, object, namespace);
  } catch (error) {
    if (error instanceof ApiError) return `${error.code} ${error.message}`;
    throw error;
  }
}

test('SelfSubjectReview returns the caller, regardless of the request body', async () => {
  expect(
    await create('SelfSubjectReview', { metadata: { name: 'x' }, status: { userInfo: { username: 'other' } } }),
  ).toEqual({
    kind: 'SelfSubjectReview',
    apiVersion: 'authentication.k8s.io/v1',
    metadata: { creationTimestamp: '2026-01-01T00:00:00Z' },
    status: { userInfo: { username: 'u', groups: ['g'], extra: { a: ['1', '0'], b: ['2'] } } },
  });
});

describe('TokenReview', () => {
  const user = { username: 'admin', uid: 'a', groups: ['system:masters', 'system:authenticated'] };
  const invalid = { user: {}, error: 'invalid bearer token' };
  const cases: readonly (readonly [string, JsonObject, () => AuthenticationResponse | undefined, JsonObject])[] = [
    ['valid', { token: 't' }, () => ({ user: admin }), { authenticated: true, user, audiences: ['api'] }],
    ['unknown', { token: 't' }, () => undefined, invalid],
    [
      'wrong, with a reason',
      { token: 't' },
      () => {
        throw new AuthenticationError('expired');
      },
      { user: {}, error: '[invalid bearer token, expired]' },
    ],
    [
      'wrong, for several reasons',
      { token: 't' },
      () => {
        throw new AuthenticationError('[expired, revoked]');
      },
      { user: {}, error: '[invalid bearer token, expired, revoked]' },
    ],
    [
      'for others, by a method that knows no audiences',
      { token: 't', audiences: ['other'] },
      () => ({ user: admin }),
      invalid,
    ],
    [
      'for one of several',
      { token: 't', audiences: ['other', 'api'] },
      () => ({ user: admin }),
      { authenticated: true, user, audiences: ['api'] },
    ],
    [
      'audiences of the method',
      { token: 't', audiences: ['x', 'y'] },
      () => ({ user: admin, audiences: ['y'] }),
      { authenticated: true, user, audiences: ['y'] },
    ],
    [
      'groups are not repeated',
      { token: 't' },
      () => ({ user: { ...admin, groups: ['system:authenticated'] } }),
      { authenticated: true, user: { ...user, groups: ['system:authenticated'] }, audiences: ['api'] },
    ],
  ];
  test.each(cases)('%s', async (_name, spec, authenticate, status) => {
    const review = await create('TokenReview', { spec, status: { authenticated: true } }, authenticate);
    expect((review as KubeObject)['status']).toEqual(status);
  });

  /** Matches kube-apiserver, which passes the token in a header. */
  test.each([
    ['t\n', 't'],
    ['t other', 't'],
    ['t\tother', 't\tother'],
    [' t', undefined],
    [' ', undefined],
  ])('the token %j is looked up as %j', async (token, expected) => {
    const asked: string[] = [];
    const answer = await create('TokenReview', { spec: { token } }, (_audiences, bare) => {
      asked.push(bare);
      return { user: admin };
    });
    expect(asked).toEqual(expected === undefined ? [] : [expected]);
    const status = { authenticated: true, user, audiences: ['api'] };
    expect(answer).toMatchObject({ spec: { token }, status: expected === undefined ? invalid : status });
  });

  test('the authenticator gets the requested audiences, or those of the server by default', async () => {
    const asked: (readonly string[])[] = [];
    const remember = (audiences: readonly string[]): undefined => void asked.push(audiences);
    await create('TokenReview', { spec: { token: 't', audiences: ['x'] } }, remember);
    await create('TokenReview', { spec: { token: 't' } }, remember);
    expect(asked).toEqual([['x'], ['api']]);
  });

  const refused: readonly (readonly [string, JsonObject, string, string])[] = [
    ['no token', { spec: {} }, '', '400 token is required for TokenReview in authentication'],
    ['no spec', {}, '', '400 token is required for TokenReview in authentication'],
    ['namespace', { spec: { token: 't' } }, 'ns', '400 namespace is not allowed on this type: ns'],
  ];
  test.each(refused)('%s', async (_name, more, namespace, text) => {
    expect(await create('TokenReview', more, () => ({ user: admin }), namespace)).toBe(text);
  });

  test('audiences from the authenticator that were not requested are an internal error', async () => {
    const text = '500 Internal error occurred: error validating audiences';
    expect(await create('TokenReview', { spec: { token: 't' } }, () => ({ user: admin, audiences: ['z'] }))).toBe(text);
  });
});
