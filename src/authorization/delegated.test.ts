import { FakeClock } from '../../test/fakes/util/clock.js';
import type { AuthorizerAttributes } from './authorizer/interfaces.js';
import { DelegatedAuthorizer } from './delegated.js';

const user = { name: 'jane', uid: '', groups: [], extra: {} };

function path(name: string): AuthorizerAttributes {
  return {
    user,
    verb: 'get',
    resourceRequest: false,
    path: name,
    namespace: '',
    apiGroup: '',
    apiVersion: '',
    resource: '',
    subresource: '',
    name: '',
  };
}

function authorizer(clock: FakeClock, asked: string[]): DelegatedAuthorizer {
  return new DelegatedAuthorizer({
    clock,
    allowedTtl: 10_000,
    deniedTtl: 1_000,
    alwaysAllowPaths: ['/healthz', '/livez/*'],
    post: (review) => {
      asked.push(JSON.stringify(review['spec']));
      return Promise.resolve({
        status: 201,
        body: { status: { allowed: JSON.stringify(review).includes('/version') } },
      });
    },
    observe: () => undefined,
  });
}

test('always-allowed paths cause no SubjectAccessReview', async () => {
  const asked: string[] = [];
  const made = authorizer(new FakeClock(), asked);
  for (const name of ['/healthz', '/livez/ping'])
    expect(await made.authorize(path(name))).toMatchObject({ decision: 'allow' });
  expect(asked).toEqual([]);
  expect(await made.authorize(path('/healthz/ping'))).toMatchObject({ decision: 'no-opinion' });
});

test('responses are cached for the times in the flags', async () => {
  const asked: string[] = [];
  const clock = new FakeClock();
  const made = authorizer(clock, asked);
  const ask = async (): Promise<number> => {
    await made.authorize(path('/version'));
    await made.authorize(path('/metrics'));
    return asked.length;
  };
  expect(await ask()).toBe(2);
  clock.advance(500);
  expect(await ask()).toBe(2);
  clock.advance(1_000);
  expect(await ask()).toBe(3);
  clock.advance(10_000);
  expect(await ask()).toBe(5);
});

describe('what strangers can make it keep', () => {
  const held = () => {
    const answers: (() => void)[] = [];
    const clock = new FakeClock();
    const posted: number[] = [];
    const made = new DelegatedAuthorizer({
      clock,
      allowedTtl: 10_000,
      deniedTtl: 10_000,
      alwaysAllowPaths: [],
      post: (review) => {
        posted.push(JSON.stringify(review).length);
        return new Promise((resolve) =>
          answers.push(() => resolve({ status: 201, body: { status: { allowed: false } } })),
        );
      },
      observe: () => undefined,
    });
    return { made, clock, posted, answers };
  };

  test('long paths take no more space in the cache than short ones', async () => {
    const asked: string[] = [];
    const made = authorizer(new FakeClock(), asked);
    for (let i = 0; i < 50; i++) await made.authorize(path(`/${'x'.repeat(100_000)}${i}`));
    expect(made.cached).toMatchObject({ size: 50 });
    expect(made.cached.weight).toBeLessThan(50 * 400);
    await made.authorize(path(`/${'x'.repeat(100_000)}0`));
    expect(asked).toHaveLength(50);
  });

  test('any number of paths is bounded by bytes, and expired decisions go', async () => {
    const clock = new FakeClock();
    const made = authorizer(clock, []);
    for (let i = 0; i < 60_000; i++) await made.authorize(path(`/${i}`));
    expect(made.cached.weight).toBeLessThanOrEqual(16 << 20);
    clock.advance(31_000);
    expect(made.cached).toMatchObject({ size: 0, weight: 0 });
  });

  test('reviews in progress are bounded, and another user is next', async () => {
    const { made, posted, answers } = held();
    const settled: string[] = [];
    const ask = (name: string, i: number): void => {
      const attributes = { ...path(`/${i}`), user: { ...user, name } };
      void Promise.resolve(made.authorize(attributes)).then(({ error = '' }) => settled.push(`${name} ${error}`));
    };
    for (let i = 0; i < 1000; i++) ask('loud', i);
    await new Promise(setImmediate);
    expect(posted).toHaveLength(150);
    expect(settled).toHaveLength(1000 - 150 - 50);
    ask('quiet', 0);
    await new Promise(setImmediate);
    expect(posted).toHaveLength(151);
    answers[150]?.();
    await new Promise(setImmediate);
    expect(settled.at(-1)).toBe('quiet ');
  });
});
