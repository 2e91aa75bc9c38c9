import { condition, definitionText, widgetsPath, available } from '../widgets.js';
import { eventually } from '../../integration/server.js';
import { objectAt } from '../../../src/apimachinery/json/json.js';
import { treeOf } from '../../integration/client.js';
import { pause } from '../../storage/mongod.js';
import { isKnownEverywhere, listedVersions } from '../parts/adoption-discovery.js';
import { describeOnCluster, say } from '../suite.js';
import { denyUpdates } from './deny-updates.js';

const GROUP = 'discovered.example.com';
const GIVEN_UP = 'undone.example.com';
const VERSIONS = ['v1', 'v1beta1'];
/** kube-apiserver's interval, and some seconds. */
const ASKED_MILLIS = 65_000;
const OPTIONS = { apiservers: 2 as const, groups: [GROUP, GIVEN_UP] };

describeOnCluster('discovery knows an adopted group, wherever it is served', OPTIONS, (cluster) => {
  const serve = (group: string, servedBy: string): Promise<unknown> =>
    cluster.kubectl.ok(['patch', 'adoption', group, '--type=merge', '-p', JSON.stringify({ spec: { servedBy } })]);

  const holds = (group: string, type: string): Promise<unknown> =>
    condition(cluster, `adoption/${group}`, type, ({ status }) => status === 'True');

  test('before', async () => {
    await available(cluster, 'kubeannex.io', 'v1alpha1');
    for (const group of [GROUP, GIVEN_UP]) {
      await cluster.kubectl.ok(['create', '-f', '-'], { stdin: definitionText(group, 'cluster', VERSIONS) });
      for (const server of cluster.https) {
        await eventually('widgets are served', async () =>
          (await server.get(widgetsPath('default', '', group))).status === 200 ? true : undefined,
        );
      }
      const adoption = { apiVersion: 'kubeannex.io/v1alpha1', kind: 'Adoption', metadata: { name: group }, spec: {} };
      await cluster.kubectl.ok(['create', '-f', '-'], { stdin: JSON.stringify(adoption) });
    }
    for (const group of [GROUP, GIVEN_UP]) await holds(group, 'InSync');
    await isKnownEverywhere(cluster, GROUP, VERSIONS);
  });

  test('there', async () => {
    await serve(GROUP, 'Annex');
    await holds(GROUP, 'Switched');
    await isKnownEverywhere(cluster, GROUP, VERSIONS);
  });

  test('back', async () => {
    await serve(GROUP, 'Cluster');
    await holds(GROUP, 'Returned');
    await isKnownEverywhere(cluster, GROUP, VERSIONS);
    await holds(GROUP, 'Discovered');
  });

  test('given up after the route had changed', async () => {
    const release = await denyUpdates(cluster, `widgets.${GIVEN_UP}`);
    await serve(GIVEN_UP, 'Annex');
    await condition(cluster, `adoption/${GIVEN_UP}`, 'Ready', ({ message }) => message.includes('held by a test'));
    await cluster.kubectl.ok(['delete', 'validatingadmissionpolicybinding', `annex-adoption.${GIVEN_UP}`]);
    await release();
    const failed = await condition(cluster, `adoption/${GIVEN_UP}`, 'Switched', ({ reason }) => reason === 'Failed');
    expect(failed.message).toMatch(/^the switch is given up: the fence/);
    await isKnownEverywhere(cluster, GIVEN_UP, VERSIONS);
    await holds(GIVEN_UP, 'Discovered');
  });

  test('and for good: kube-apiserver asks other servers every minute', async () => {
    await pause(ASKED_MILLIS);
    for (const group of [GROUP, GIVEN_UP]) {
      await isKnownEverywhere(cluster, group, VERSIONS);
      for (const version of VERSIONS) {
        const service = ['get', 'apiservice', `${version}.${group}`, '-o', 'jsonpath={.spec}{.metadata.labels}'];
        const text = await cluster.kubectl.ok(service);
        expect(text).toContain('"versionPriority":100');
        expect(text).toContain('"kube-aggregator.kubernetes.io/automanaged":"true"');
        expect(text).not.toContain('"service"');
      }
    }
  });

  test('a kube-apiserver that asks for good is reported, and Annex makes it look again', async () => {
    // As an update of the APIService does, by which earlier versions of Annex gave a group back.
    const name = `v1.${GROUP}`;
    const path = `/apis/apiregistration.k8s.io/v1/apiservices/${name}`;
    const own = treeOf(await cluster.http.get(path));
    const ours = treeOf(await cluster.http.get('/apis/apiregistration.k8s.io/v1/apiservices/v1.kubeannex.io'));
    const { service = null, caBundle = null } = objectAt(ours, 'spec') ?? {};
    const headers = { 'content-type': 'application/merge-patch+json' };
    const label = (value: string | null): object => ({ 'kube-aggregator.kubernetes.io/automanaged': value });
    const patch = (body: object): Promise<unknown> => cluster.http.send({ method: 'PATCH', path, body, headers });
    await patch({ metadata: { labels: label(null) }, spec: { service, caBundle } });
    await eventually('both kube-apiservers ask Annex', async () => {
      const shown = await Promise.all(cluster.https.map((server) => listedVersions(server, GROUP)));
      return shown.every(([first]) => first?.resources.length === 0) || undefined;
    });
    await patch({
      metadata: { labels: label('true') },
      spec: { ...objectAt(own, 'spec'), service: null, caBundle: null },
    });
    const found = await condition(cluster, `adoption/${GROUP}`, 'Discovered', ({ status }) => status === 'False');
    say(found.message);
    expect(found.reason).toBe('NotListed');
    expect(found.message).toContain(`its discovery lacks widgets of ${GROUP}/v1`);
    expect(found.message).toContain(`Annex deletes the APIServices v1.${GROUP} v1beta1.${GROUP}`);
    await holds(GROUP, 'Discovered');
    await isKnownEverywhere(cluster, GROUP, VERSIONS);
  });
});
