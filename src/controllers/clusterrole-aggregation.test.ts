import { ApiError } from '../apimachinery/meta/errors.js';
import type { KubeObject } from '../apimachinery/meta/meta.js';
import { FakeLoopbackClient } from '../../test/fakes/registry/loopback-client.js';
import { FakeClock } from '../../test/fakes/util/clock.js';
import { ClusterRoleAggregation } from './clusterrole-aggregation.js';

const rule = (resource: string): { apiGroups: string[]; resources: string[]; verbs: string[] } => ({
  apiGroups: [''],
  resources: [resource],
  verbs: ['get'],
});
const part = (name: string, label: string, resource: string): KubeObject => ({
  metadata: { name, labels: { [label]: 'true' } },
  rules: [rule(resource)],
});
const whole = (name: string, wanted: string, labels: Record<string, string> = {}): KubeObject => ({
  metadata: { name, labels },
  aggregationRule: { clusterRoleSelectors: [{ matchLabels: { [wanted]: 'true' } }] },
});
const settle = async (): Promise<void> => {
  for (let i = 0; i < 20; i++) await new Promise(setImmediate);
};

function start(): {
  client: FakeLoopbackClient;
  clock: FakeClock;
  failures: string[];
  stop: () => void;
  rules: (name: string) => unknown;
} {
  const client = new FakeLoopbackClient({ group: 'rbac.authorization.k8s.io', resource: 'clusterroles' });
  const clock = new FakeClock();
  const failures: string[] = [];
  const abort = new AbortController();
  client.put(whole('all', 'a'));
  client.put(part('one', 'a', 'pods'));
  new ClusterRoleAggregation(client, clock, (text) => failures.push(text)).start(abort.signal);
  return { client, clock, failures, stop: () => abort.abort(), rules: (name) => client.objects.get(name)!['rules'] };
}

test('rules are aggregated, follow changes through several levels, and are not written twice', async () => {
  const { client, rules } = start();
  await settle();
  expect(rules('all')).toEqual([rule('pods')]);
  client.put(part('two', 'a', 'nodes'));
  client.put(whole('top', 'b'));
  client.put({ ...client.objects.get('all')!, metadata: { name: 'all', labels: { b: 'true' } } });
  await settle();
  expect(rules('all')).toEqual([rule('pods'), rule('nodes')]);
  expect(rules('top')).toEqual([rule('pods'), rule('nodes')]);
  await client.delete('', 'one');
  await settle();
  expect(rules('top')).toEqual([rule('nodes')]);
  const written = client.calls.length;
  client.put(part('other', 'c', 'x'));
  await settle();
  expect(client.calls).toHaveLength(written);
});

test('a failed write is retried', async () => {
  const { client, clock, failures, rules } = start();
  client.before = () => {
    throw new ApiError(500, '', 'out of order');
  };
  await settle();
  expect(failures).toEqual(['all failed with : ApiError: out of order']);
  client.before = () => undefined;
  clock.advance(5);
  await settle();
  expect(rules('all')).toEqual([rule('pods')]);
});

test('nothing is written after the controller has stopped', async () => {
  const { client, stop } = start();
  await settle();
  stop();
  const written = client.calls.length;
  client.put(part('two', 'a', 'nodes'));
  await settle();
  expect(client.calls).toHaveLength(written);
});
