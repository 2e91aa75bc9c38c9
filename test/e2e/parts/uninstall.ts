import { Corpus } from '../../corpus/corpus.js';
import { digText, treeOf } from '../../integration/client.js';
import { eventually } from '../../integration/server.js';
import { NAMESPACE, type TestCluster } from '../cluster.js';
import { available, discovered, GROUP } from '../widgets.js';

const OURS = ['get', 'apiservices', '-l', 'app.kubernetes.io/managed-by=annex', '-o', 'name'];

/** The published definitions of the foreign objects that the chart creates. */
const FOREIGN = [
  'cert-manager/cert-manager.io_certificates.yaml',
  'prometheus-operator/monitoring.coreos.com_servicemonitors.yaml',
];
const MADE = ['certificates.cert-manager.io/annex', 'servicemonitors.monitoring.coreos.com/annex'];

/** helm removes what it installed, and what Annex created. */
export function uninstall(cluster: TestCluster): void {
  const uid = async (): Promise<string> => {
    const text = await cluster.kubectl.ok(['get', 'apiservice', `v1.${GROUP}`, '-o', 'json']);
    return digText(treeOf({ text }), 'metadata', 'uid');
  };

  describe('helm', () => {
    test('upgrade leaves the APIServices unchanged', async () => {
      const before = await uid();
      await cluster.release('upgrade', 'resources.requests.cpu=50m');
      const text = await cluster.kubectl.ok(['-n', NAMESPACE, 'get', 'deployment', 'annex', '-o', 'json']);
      expect(text).toContain('"cpu": "50m"');
      expect(await uid()).toBe(before);
    });

    test('upgrade to cert-manager and a ServiceMonitor creates objects that are valid in every field', async () => {
      const corpus = new Corpus();
      for (const path of FOREIGN) {
        const file = cluster.file('definition.json', JSON.stringify(corpus.read(path)));
        await cluster.kubectl.ok(['create', '-f', file]);
        await cluster.kubectl.ok(['wait', '-f', file, '--for=condition=Established', '--timeout=60s']);
      }
      const certificates = ['certificates.mode=certManager', 'certificates.issuerRef.kind=ClusterIssuer'];
      const monitor = ['serviceMonitor.enabled=true', 'serviceMonitor.labels.release=prometheus'];
      await cluster.release('upgrade', ...certificates, ...monitor);
      await cluster.kubectl.ok(['-n', NAMESPACE, 'get', ...MADE]);
      const manifest = await cluster.helm('get', 'manifest', 'annex', '--namespace', NAMESPACE);
      const apply = ['apply', '--server-side', '--force-conflicts', '--dry-run=server', '--validate=strict'];
      const out = await cluster.kubectl.ok([...apply, '-f', cluster.file('manifest.yaml', manifest)]);
      for (const one of MADE) expect(out).toContain(`${one.replace('s.', '.')} serverside-applied`);
    });

    test('rollback removes them and leaves the APIServices unchanged', async () => {
      const before = await uid();
      await cluster.helm('rollback', 'annex', '--namespace', NAMESPACE);
      const { code, stderr } = await cluster.kubectl.run(['-n', NAMESPACE, 'get', ...MADE]);
      expect(code).not.toBe(0);
      expect(stderr.match(/\(NotFound\)/g)).toHaveLength(2);
      const text = await cluster.kubectl.ok(['-n', NAMESPACE, 'get', 'deployment', 'annex', '-o', 'json']);
      expect(text).toContain('"cpu": "50m"');
      expect(text).not.toContain('--tls-cert-file');
      expect(await uid()).toBe(before);
    });

    test('uninstall leaves nothing in the cluster', async () => {
      const [first, second] = cluster.replicas;
      // No kubelet runs the Job that would refuse the uninstall. The adoption tests cover it.
      await cluster.helm('uninstall', 'annex', '--namespace', NAMESPACE, '--no-hooks');
      // Pods get the signal when their Deployment is deleted.
      await Promise.all([first?.daemon.stop('SIGTERM'), second?.daemon.stop('SIGTERM')]);
      await eventually('no APIService is left', async () =>
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
      // The namespace controller no longer depends on Annex.
      await cluster.kubectl.ok(['delete', 'namespace', 'reports', '--timeout=60s']);
    });

    test('reinstalled, it has all its data', async () => {
      await cluster.release('install');
      await cluster.startReplicas();
      await available(cluster, GROUP, 'v1');
      await discovered(cluster, GROUP, 'widgets');
      const names = await cluster.kubectl.ok(['get', `widgets.${GROUP}`, '-n', 'watched', '-o', 'name']);
      expect(names.trim().split('\n').length).toBeGreaterThan(50);
    });
  });
}
