import { Registry } from 'prom-client';
import { ClusterError } from '../../../client/cluster-client.js';
import { FakeCluster, settle } from '../../../../test/fakes/aggregation/cluster.js';
import { FakeClock } from '../../../../test/fakes/util/clock.js';
import type { Logger } from '../../../util/logger.js';
import { ClusterAdmission } from './cluster-admission.js';
import { ClusterAdmissionMetrics } from '../../metrics/aggregation-metrics.js';
import { ClusterLinks } from '../../health/cluster-links.js';

const V1 = '/apis/admissionregistration.k8s.io/v1';
const CONFIGMAP = { group: '', version: 'v1', kind: 'ConfigMap' };
const TYPES = [
  'MutatingWebhookConfiguration mutatingwebhookconfigurations!',
  'ValidatingWebhookConfiguration validatingwebhookconfigurations!',
  'ValidatingAdmissionPolicy validatingadmissionpolicies!',
  'ValidatingAdmissionPolicyBinding validatingadmissionpolicybindings!',
];
const resourceOf = (text: string): string => text.replace(/^.* (.*)!$/, '$1');

function setUp() {
  const cluster = new FakeCluster();
  // An older cluster, without mutating policies.
  cluster.served.set(V1, TYPES);
  cluster.served.set('/api/v1', ['ConfigMap configmaps']);
  const lines: string[] = [];
  const note = (message: string): void => void lines.push(message);
  const logger: Logger = {
    info: note,
    warn: note,
    error: note,
    enabled: () => false,
    v: () => undefined,
    flush: () => Promise.resolve(),
  };
  const registry = new Registry();
  const clock = new FakeClock();
  const admission = new ClusterAdmission({
    client: cluster,
    clock,
    logger,
    metrics: new ClusterAdmissionMetrics(registry),
    links: new ClusterLinks(registry, logger, clock),
    namespaces: { cached: () => undefined, get: () => undefined },
    ownParams: { open: () => undefined, retain: () => undefined },
  });
  const stop = new AbortController();
  admission.start(stop.signal);
  const metric = async (start: string): Promise<string[]> =>
    (await registry.metrics()).split('\n').filter((line) => line.startsWith(start));
  return { cluster, lines, clock, admission, stop, metric };
}

test('becomes ready once everything that the cluster serves is listed, and stays ready', async () => {
  const { cluster, clock, admission, metric } = setUp();
  const check = (): unknown => admission.check.check();
  expect(check).toThrow(
    /^admission has not yet read these from the cluster: mutatingwebhookconfigurations \(not listed yet\), /,
  );
  await settle();
  for (const type of TYPES.slice(0, 3)) cluster.list(`${V1}/${resourceOf(type)}`);
  const last = `${V1}/validatingadmissionpolicybindings`;
  cluster.at(last).failed(new ClusterError(403, 'forbidden'));
  expect(check).toThrow(
    'admission has not yet read these from the cluster: validatingadmissionpolicybindings (forbidden)',
  );
  cluster.list(last);
  expect(check()).toBeUndefined();
  cluster.at(last).failed(new ClusterError(0, 'connect ECONNREFUSED'));
  clock.advance(5_000);
  expect(check()).toBeUndefined();
  const name = 'annex_admission_configuration_age_seconds';
  expect(await metric(`${name}{`)).toContain(`${name}{resource="validatingadmissionpolicybindings"} 5`);
  expect(await metric(`${name}{resource="mutatingadmissionpolicies"}`)).toEqual([
    `${name}{resource="mutatingadmissionpolicies"} 0`,
  ]);
});

test('the link is restored once no watch is broken, and changes are logged', async () => {
  const { cluster, lines, metric } = setUp();
  await settle();
  const paths = TYPES.map((type) => `${V1}/${resourceOf(type)}`);
  for (const path of paths) cluster.list(path);
  const [one = '', other = ''] = paths;
  const broken = async (): Promise<string[]> => metric('annex_cluster_link_broken{link="admission"}');
  cluster.at(one).failed(new ClusterError(0, 'reset'));
  cluster.at(other).failed(new ClusterError(0, 'reset'));
  cluster.notify(one, () => undefined);
  expect(await broken()).toEqual(['annex_cluster_link_broken{link="admission"} 1']);
  lines.length = 0;
  cluster.notify(other, (watch) => {
    watch.upsert({ metadata: { name: 'new' } });
  });
  expect(await broken()).toEqual(['annex_cluster_link_broken{link="admission"} 0']);
  expect(lines).toEqual(['following validatingwebhookconfigurations of the cluster: added new', 'admission: restored']);
});

test('unreadable params are counted and logged once, until they are readable or unreferenced', async () => {
  const { cluster, lines, admission, metric, stop } = setUp();
  await settle();
  lines.length = 0;
  await admission.sources.params.open(CONFIGMAP);
  const unreadable = (): Promise<string[]> => metric('annex_admission_params_unreadable{');
  for (let i = 0; i < 3; i++) cluster.at('/api/v1/configmaps').failed(new ClusterError(403, 'forbidden'));
  expect(await unreadable()).toEqual(['annex_admission_params_unreadable{kind="/v1, Kind=ConfigMap"} 1']);
  cluster.list('/api/v1/configmaps');
  expect(await unreadable()).toEqual(['annex_admission_params_unreadable{kind="/v1, Kind=ConfigMap"} 0']);
  expect(lines).toEqual([
    'cannot read params of kind /v1, Kind=ConfigMap: forbidden; policies that refer to them apply their failurePolicy; grant Annex list and watch on them',
    'params of kind /v1, Kind=ConfigMap are readable again',
  ]);
  admission.sources.params.retain([]);
  expect(await unreadable()).toEqual([]);
  stop.abort();
  expect(cluster.followed.size).toBe(0);
});
