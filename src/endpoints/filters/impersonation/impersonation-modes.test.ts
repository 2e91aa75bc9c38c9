import { cacheBytes } from '../../../../test/fakes/util/cache-bytes.js';
import { ImpersonationModes } from './impersonation-modes.js';

test('the last modes of users are kept by bytes, and not for very long names', async () => {
  const modes = new ImpersonationModes({ authorize: () => ({ decision: 'allow', reason: '' }) }, true);
  const wanted = { name: 'jane', uid: '', groups: [], extra: {} };
  const impersonate = (name: string): Promise<unknown> =>
    modes.resolve(
      wanted,
      {
        user: { name, uid: '', groups: [], extra: {} },
        verb: 'get',
        resourceRequest: true,
        namespace: '',
        apiGroup: '',
        apiVersion: 'v1',
        resource: 'pods',
        subresource: '',
        name: '',
        path: '',
      },
      new AbortController().signal,
    );
  await impersonate('x'.repeat(100_000));
  expect(await cacheBytes('impersonation_modes')).toBe(0);
  for (let i = 0; i < 1000; i++) await impersonate(`${String(i)}${'x'.repeat(1000)}`);
  const kept = (await cacheBytes('impersonation_modes')) ?? NaN;
  expect(kept).toBeGreaterThan(512 << 10);
  expect(kept).toBeLessThanOrEqual(1 << 20);
});
