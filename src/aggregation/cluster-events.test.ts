import { ClusterError } from '../client/cluster-client.js';
import { recordInCluster } from './cluster-events.js';

const EVENT = { metadata: { name: 'a.1', namespace: 'default' }, reason: 'GroupVersionTaken' };

test('creates the Event in its namespace', async () => {
  const calls: unknown[] = [];
  await recordInCluster({ must: (...call) => Promise.resolve(void calls.push(call)) }, EVENT);
  expect(calls).toEqual([['POST', '/api/v1/namespaces/default/events', EVENT]]);
});

test.each([
  [409, 'resolves'],
  [403, 'resolves'],
  [500, 'rejects'],
  [0, 'rejects'],
])('status %d: the call %s', async (status, expected) => {
  const call = recordInCluster({ must: () => Promise.reject(new ClusterError(status, 'no')) }, EVENT);
  const outcome = await call.then(
    () => 'resolves',
    () => 'rejects',
  );
  expect(outcome).toBe(expected);
});
