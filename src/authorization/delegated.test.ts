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
