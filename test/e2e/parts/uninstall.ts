import { digText, treeOf } from '../../integration/client.js';
import { eventually } from '../../integration/server.js';
import { NAMESPACE, type TestCluster } from '../cluster.js';
import { available, discovered, GROUP } from '../widgets.js';

const OURS = ['get', 'apiservices', '-l', 'app.kubernetes.io/managed-by=annex', '-o', 'name'];

/** helm takes away what helm brought, and what Annex made of it. */
export function uninstall(cluster: TestCluster): void {
  const uid = async (): Promise<string> => {
    const text = await cluster.kubectl.ok(['get', 'apiservice', `v1.${GROUP}`, '-o', 'json']);
    return digText(treeOf({ text }), 'metadata', 'uid');
  };

  describe('helm', () => {
    test('upgrade leaves the APIServices as they are', async () => {
      const before = await uid();
      await cluster.release('upgrade', 'resources.requests.cpu=50m');
      const text = await cluster.kubectl.ok(['-n', NAMESPACE, 'get', 'deployment', 'annex', '-o', 'json']);
      expect(text).toContain('"cpu": "50m"');
      expect(await uid()).toBe(before);
    });

    test('uninstall leaves nothing behind in the cluster', async () => {
      const [first, second] = cluster.replicas;
      await cluster.helm('uninstall', 'annex', '--namespace', NAMESPACE);
      // Pods get the signal when their Deployment is gone.
      await Promise.all([first?.daemon.stop('SIGTERM'), second?.daemon.stop('SIGTERM')]);
      await eventually('no APIService is left', 90_000, async () =>
        (await cluster.kubectl.ok(OURS)).trim() === '' ? true : undefined,
      );
      const left = await cluster.kubectl.ok([
        'get',
        'clusterroles,clusterrolebindings,rolebindings',
        '-A',
        '-o',
        'name',
        '-l',
        'app.kubernetes.io/instance=annex',
      ]);
      expect(left).toBe('');
      // The namespace controller has nothing to ask Annex any more.
      await cluster.kubectl.ok(['delete', 'namespace', 'reports', '--timeout=60s']);
    });

    test('installed again, it has all that it had', async () => {
      await cluster.release('install');
      await cluster.startReplicas();
      await available(cluster, GROUP, 'v1');
      await discovered(cluster, GROUP, 'widgets');
      const names = await cluster.kubectl.ok(['get', `widgets.${GROUP}`, '-n', 'watched', '-o', 'name']);
      expect(names.trim().split('\n').length).toBeGreaterThan(50);
    });
  });
}
