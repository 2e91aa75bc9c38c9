import { X509Certificate } from 'node:crypto';
import { connect } from 'node:tls';
import { digText, treeOf } from '../../integration/client.js';
import { eventually } from '../../integration/server.js';
import { NAMESPACE, run, type TestCluster } from '../cluster.js';
import { runPod } from '../hooks.js';

const ACCOUNT = `system:serviceaccount:${NAMESPACE}:annex`;

/** The objects that helm and Annex created in the cluster. */
export function install(cluster: TestCluster): void {
  describe('helm install', () => {
    test('the cluster has created pods under the restricted pod security standard', async () => {
      const pods = await eventually('pods', async () => {
        const names = (await cluster.kubectl.ok(['-n', NAMESPACE, 'get', 'pods', '-o', 'name'])).trim().split('\n');
        return names.length === 2 ? names : undefined;
      });
      expect(pods).toEqual([expect.stringMatching(/^pod\/annex-/), expect.stringMatching(/^pod\/annex-/)]);
    });

    test('the release has created all its objects', async () => {
      const manifest = await cluster.helm('get', 'manifest', 'annex', '--namespace', NAMESPACE);
      const kinds = [...manifest.matchAll(/^kind: (\w+)$/gm)].map(([, kind]) => kind);
      expect(new Set(kinds)).toEqual(
        new Set([
          ...['ServiceAccount', 'ClusterRole', 'ClusterRoleBinding', 'Role', 'RoleBinding', 'Service', 'Deployment'],
          ...['PodDisruptionBudget', 'NetworkPolicy'],
        ]),
      );
      // All objects have a namespace in the manifest.
      const file = cluster.file('manifest.yaml', manifest);
      await cluster.kubectl.ok(['get', '-f', file]);
    });

    test('v1.kubeannex.io points to the Service, is owned by the ClusterRole, and trusts both replicas', async () => {
      const service = treeOf({
        text: await cluster.kubectl.ok(['get', 'apiservice', 'v1.kubeannex.io', '-o', 'json']),
      });
      const uid = await cluster.kubectl.ok(['get', 'clusterrole', 'annex', '-o', 'jsonpath={.metadata.uid}']);
      expect(service).toMatchObject({
        metadata: {
          labels: { 'app.kubernetes.io/managed-by': 'annex' },
          ownerReferences: [{ apiVersion: 'rbac.authorization.k8s.io/v1', kind: 'ClusterRole', name: 'annex', uid }],
        },
        spec: {
          service: { namespace: NAMESPACE, name: 'annex', port: cluster.servicePort },
          group: 'kubeannex.io',
          version: 'v1',
        },
      });
      const bundle = new X509Certificate(Buffer.from(digText(service, 'spec', 'caBundle'), 'base64'));
      for (const { port } of cluster.replicas) {
        const shown = await certificateOf(port);
        expect([shown.checkIssued(bundle), shown.verify(bundle.publicKey)]).toEqual([true, true]);
        expect(shown.checkHost(`annex.${NAMESPACE}.svc`)).toBeDefined();
      }
    });

    test.each([
      ['get', 'secrets', false],
      ['create', 'pods', false],
      ['list', 'configmaps', false],
      ['update', 'clusterroles', false],
      ['get', 'clusterroles/admin', false],
      ['list', 'namespaces', true],
      ['delete', 'apiservices', true],
      ['create', 'tokenreviews.authentication.k8s.io', true],
    ])('its account may %s %s: %s', async (verb, resource, expected) => {
      const { stdout } = await cluster.kubectl.run(['auth', 'can-i', verb, resource, '-A', '--as', ACCOUNT]);
      expect(stdout.trim()).toBe(expected ? 'yes' : 'no');
    });

    test('the doctor reports no problem', async () => {
      const { args } = cluster.replica(0).daemon;
      const out = await run(process.execPath, [args[0] ?? '', 'doctor', ...args.slice(2)]);
      const lines = out.trim().split('\n');
      expect(lines.filter((line) => line.includes(': failed'))).toEqual([]);
      expect(lines).toContain('rights to follow admission: ok');
      expect(lines.length).toBeGreaterThan(9);
    });

    test('helm test runs the doctor in its own pod and reports the result', async () => {
      const reported = cluster.helm('test', 'annex', '--namespace', NAMESPACE, '--timeout', '2m');
      const [out, status] = await Promise.all([runPod(cluster, 'annex-doctor'), reported]);
      expect(out).toMatch(/^store: ok/m);
      expect(status).toMatch(/^TEST SUITE: +annex-doctor\n(?:.*\n)*?Phase: +Succeeded$/m);
    });

    test('readyz lists its checks', async () => {
      const answer = await cluster.direct(0).send({ path: '/readyz?verbose', token: '' });
      expect(answer.status).toBe(200);
      expect(answer.text).toContain('[+]peers ok\n');
      expect(answer.text).toContain('[+]admission-configurations ok\n');
    });
  });
}

/** Returns the serving certificate. */
function certificateOf(port: number): Promise<X509Certificate> {
  return new Promise((resolve, reject) => {
    const socket = connect({ port, host: '127.0.0.1', rejectUnauthorized: false }, () => {
      const certificate = socket.getPeerX509Certificate();
      socket.destroy();
      if (certificate === undefined) reject(new Error('no certificate was shown'));
      else resolve(certificate);
    });
    socket.on('error', reject);
  });
}
