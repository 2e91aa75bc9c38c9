import { ResponseError, type WebhookResponse } from '../../client/webhook/connection.js';
import { FakeClock } from '../../../test/fakes/util/clock.js';
import { NEVER_ABORTED } from '../../util/never-aborted.js';
import { AuthenticationError } from '../authenticator/interfaces.js';
import { TokenCache } from './token-cache.js';
import { WebhookTokenAuthenticator } from './webhook.js';

type Answer = WebhookResponse | Error;

const review = (status: unknown, version = 'v1'): WebhookResponse => ({
  status: 200,
  body: JSON.stringify({ kind: 'TokenReview', apiVersion: `authentication.k8s.io/${version}`, status }),
  contentType: '',
  retryAfter: false,
});
const failure = (status: number): WebhookResponse => ({ status, body: 'x', contentType: '', retryAfter: false });
const USER = { username: 'jane', uid: '7', groups: ['g'], extra: { k: ['v'] } };
const JANE = { name: 'jane', uid: '7', groups: ['g'], extra: { k: ['v'] } };

function setting(answers: readonly Answer[], version: 'v1' | 'v1beta1' = 'v1') {
  const clock = new FakeClock();
  const sent: string[] = [];
  const failed: string[] = [];
  const authenticator = new WebhookTokenAuthenticator({
    version,
    audiences: ['api'],
    transport: {
      post: (body) => {
        const answer = answers[Math.min(sent.push(body), answers.length) - 1];
        return answer instanceof Error || answer === undefined
          ? Promise.reject(answer ?? new Error('none'))
          : Promise.resolve(answer);
      },
    },
    clock,
    random: () => 0,
    failed: (text) => failed.push(text),
  });
  return { clock, sent, failed, authenticator };
}

async function outcome(pending: Promise<unknown>): Promise<unknown> {
  try {
    return await pending;
  } catch (error) {
    if (error instanceof AuthenticationError) return { message: error.message, reported: error.exposeToClient };
    throw error;
  }
}

const cases: readonly (readonly [string, object, readonly string[], unknown])[] = [
  ['success', { authenticated: true, user: USER }, [], { user: JANE, audiences: ['api'] }],
  [
    'an error beside success is ignored',
    { authenticated: true, user: USER, error: 'x' },
    [],
    { user: JANE, audiences: ['api'] },
  ],
  ['not authenticated', { authenticated: false }, [], undefined],
  ['no status', {}, [], undefined],
  ['not authenticated, with words', { error: 'too old' }, [], { message: 'too old', reported: true }],
  [
    'for some audiences',
    { authenticated: true, user: USER, audiences: ['b', 'c'] },
    ['a', 'b'],
    { user: JANE, audiences: ['b'] },
  ],
  ['for other audiences', { authenticated: true, user: USER, audiences: ['c'] }, ['a', 'b'], undefined],
  ['for the server, when others are asked for', { authenticated: true, user: USER }, ['a'], undefined],
  [
    'a user without name',
    { authenticated: true, user: {} },
    [],
    { message: 'the webhook authenticated a user without a name', reported: false },
  ],
];

const typed: readonly (readonly [string, unknown, string])[] = [
  ['status', 7, 'number into Go struct field TokenReview.status of type v1.TokenReviewStatus'],
  [
    'authenticated',
    { authenticated: 'yes' },
    'string into Go struct field TokenReviewStatus.status.authenticated of type bool',
  ],
  ['error', { error: 7 }, 'number into Go struct field TokenReviewStatus.status.error of type string'],
  ['audiences', { audiences: 7 }, 'number into Go struct field TokenReviewStatus.status.audiences of type []string'],
  ['user', { user: 7 }, 'number into Go struct field TokenReviewStatus.status.user of type v1.UserInfo'],
  ['name', { user: { username: 7 } }, 'number into Go struct field UserInfo.status.user.username of type string'],
  ['uid', { user: { uid: 7 } }, 'number into Go struct field UserInfo.status.user.uid of type string'],
  ['groups', { user: { groups: 'g' } }, 'string into Go struct field UserInfo.status.user.groups of type []string'],
  ['group', { user: { groups: [7] } }, 'number into Go struct field UserInfo.status.user.groups of type string'],
  [
    'extra',
    { user: { extra: 7 } },
    'number into Go struct field UserInfo.status.user.extra of type map[string]v1.ExtraValue',
  ],
  [
    'values',
    { user: { extra: { k: 'v' } } },
    'string into Go struct field UserInfo.status.user.extra of type v1.ExtraValue',
  ],
  ['value', { user: { extra: { k: [7] } } }, 'number into Go struct field UserInfo.status.user.extra of type string'],
];
test.each(typed)('a field of another type: %s', async (_name, status, why) => {
  const { authenticator } = setting([review(status)]);
  expect(await outcome(authenticator.authenticateToken('t', [], NEVER_ABORTED))).toEqual({
    message: `json: cannot unmarshal ${why}`,
    reported: false,
  });
});

test('a response may omit its kind', async () => {
  const body = JSON.stringify({ status: { authenticated: true, user: USER } });
  const { authenticator } = setting([{ status: 200, body, contentType: '', retryAfter: false }]);
  expect(await outcome(authenticator.authenticateToken('t', [], NEVER_ABORTED))).toMatchObject({ user: JANE });
});
test.each(cases)('%s', async (_name, status, audiences, expected) => {
  const { authenticator } = setting([review(status)]);
  expect(await outcome(authenticator.authenticateToken('t', audiences, NEVER_ABORTED))).toEqual(expected);
});

test.each(['v1', 'v1beta1'] as const)('sends a TokenReview of version %s', async (version) => {
  const { authenticator, sent } = setting([review({}, version)], version);
  await authenticator.authenticateToken('t', [], NEVER_ABORTED);
  expect(JSON.parse(sent[0] ?? '')).toEqual({
    kind: 'TokenReview',
    apiVersion: `authentication.k8s.io/${version}`,
    metadata: {},
    spec: { token: 't', audiences: ['api'] },
    status: { user: {} },
  });
});

test.each([
  ['another version', review({ authenticated: true, user: USER }, 'v1beta1')],
  ['not JSON', { status: 200, body: 'secret-token', contentType: '', retryAfter: false }],
])('%s is refused, and its content is not logged', async (_name, answer) => {
  const { authenticator, failed } = setting([answer]);
  expect(await outcome(authenticator.authenticateToken('t', [], NEVER_ABORTED))).toMatchObject({ reported: false });
  expect(failed.join()).not.toContain('secret-token');
});

async function settle(clock: FakeClock, pending: Promise<unknown>): Promise<unknown> {
  const state = { done: false };
  const result = outcome(pending).finally(() => {
    state.done = true;
  });
  for (let i = 0; i < 200; i++) {
    if (state.done) break;
    clock.advance(100);
    for (let j = 0; j < 10; j++) await Promise.resolve();
  }
  return result;
}

test('transient failures are retried, up to five attempts', async () => {
  const good = review({ authenticated: true, user: USER });
  const recovered = setting([failure(500), new ResponseError('reset', { transient: true }), failure(429), good]);
  expect(
    await settle(recovered.clock, recovered.authenticator.authenticateToken('t', [], NEVER_ABORTED)),
  ).toHaveProperty('user');
  const never = setting([failure(504)]);
  expect(await settle(never.clock, never.authenticator.authenticateToken('t', [], NEVER_ABORTED))).toMatchObject({
    reported: false,
  });
  expect(never.sent).toHaveLength(5);
  const final = setting([failure(403)]);
  await settle(final.clock, final.authenticator.authenticateToken('t', [], NEVER_ABORTED));
  expect(final.sent).toHaveLength(1);
});

describe('cache', () => {
  const cached = (answers: readonly Answer[]) => {
    const made = setting(answers);
    const cache = new TokenCache(made.authenticator, { successTtl: 1000, failureTtl: 500, clock: made.clock });
    const ask = (token = 't', audiences: readonly string[] = []): Promise<unknown> =>
      outcome(Promise.resolve(cache.authenticateToken(token, audiences, NEVER_ABORTED)));
    return { ...made, cache, ask };
  };
  const good = review({ authenticated: true, user: USER });

  test('a user is cached for a time, and returned synchronously', async () => {
    const { ask, sent, clock, cache } = cached([good]);
    const first = await ask();
    expect(cache.authenticateToken('t', [], NEVER_ABORTED)).toBe(first);
    expect(sent).toHaveLength(1);
    clock.advance(1001);
    await ask();
    expect(sent).toHaveLength(2);
  });

  test('caches by token and audiences', async () => {
    const { ask, sent } = cached([good]);
    await ask('t');
    await ask('u');
    await ask('t', ['api']);
    expect(sent).toHaveLength(3);
  });

  test('failures are cached for their own time, errors not at all', async () => {
    const nobody = cached([review({})]);
    await nobody.ask();
    await nobody.ask();
    expect(nobody.sent).toHaveLength(1);
    nobody.clock.advance(501);
    await nobody.ask();
    expect(nobody.sent).toHaveLength(2);
    const failing = cached([review({ error: 'no' })]);
    await failing.ask();
    await failing.ask();
    expect(failing.sent).toHaveLength(2);
  });

  test('concurrent requests share one call, which continues if one of them is canceled', async () => {
    const { ask, sent, cache } = cached([good]);
    const controller = new AbortController();
    const given = outcome(Promise.resolve(cache.authenticateToken('t', [], controller.signal)));
    const others = [ask(), ask()];
    controller.abort();
    expect(await given).toMatchObject({ reported: false });
    for (const other of await Promise.all(others)) expect(other).toHaveProperty('user');
    expect(sent).toHaveLength(1);
  });

  test('of many tokens, 200 are looked up at a time', async () => {
    const made = setting([good]);
    let inside = 0;
    const inner = {
      authenticateToken: () => {
        inside++;
        return new Promise<undefined>(() => undefined);
      },
    };
    const cache = new TokenCache(inner, { successTtl: 1000, failureTtl: 500, clock: made.clock });
    for (let i = 0; i < 1000; i++)
      void outcome(Promise.resolve(cache.authenticateToken(`t${String(i)}`, [], NEVER_ABORTED)));
    await new Promise((resolve) => setImmediate(resolve));
    expect(inside).toBe(200);
  });
});
