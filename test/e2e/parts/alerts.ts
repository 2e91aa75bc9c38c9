import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { findPrometheus, hasty, Prometheus } from '../../alerts/prometheus.js';
import { ROOT } from '../../integration/server.js';
import type { TestCluster } from '../cluster.js';

const found = findPrometheus();
/** `make alerts` runs these tests. They take the cluster apart for minutes. */
const wanted = process.env['ANNEX_ALERTS'] === 'all' && 'path' in found;
const API = 'admissionregistration.k8s.io/v1';

/** Fires the alerts about the cluster by faults of the cluster. */
export function alerts(cluster: TestCluster, say: (line: string) => void): void {
  (wanted ? describe : describe.skip)('alerts of a cluster', () => {
    let prometheus: Prometheus | undefined;

    beforeAll(async () => {
      const rules = readFileSync(join(ROOT, 'charts/annex/files/alerts.yaml'), 'utf8');
      const targets = [...cluster.replicas, { port: Number(new URL(cluster.address.url).port), job: 'apiserver' }];
      const path = 'path' in found ? found.path : '';
      prometheus = await Prometheus.start(path, join(cluster.folder, 'prometheus'), targets, hasty(rules));
    });
    afterAll(() => prometheus?.stop());

    async function fire(names: readonly string[], inject: () => unknown, heal: () => unknown): Promise<void> {
      await prometheus?.scrapes(1 + cluster.replicas.length);
      for (const name of names) await prometheus?.until(name, false);
      await inject();
      for (const name of names) {
        await prometheus?.until(name, true);
        say(`${name} fires`);
      }
      await heal();
      for (const name of names) await prometheus?.until(name, false);
      say(`${names.join(', ')}: resolved`);
    }

    test('Annex does not answer the cluster', () =>
      fire(
        ['AnnexAPIServiceUnavailable'],
        () => {
          for (const { daemon } of cluster.replicas) daemon.signal('SIGSTOP');
        },
        () => {
          for (const { daemon } of cluster.replicas) daemon.signal('SIGCONT');
        },
      ));

    test('Annex loses the permission to follow the cluster', () =>
      fire(
        ['AnnexClusterLinkBroken', 'AnnexAdmissionConfigurationStale'],
        async () => {
          await cluster.kubectl.ok(['delete', 'clusterrolebinding', 'annex']);
          // Existing watches continue until their connection ends.
          await cluster.apiserver.stop('SIGKILL');
          cluster.apiserver.start();
          await cluster.apiserverReady();
        },
        () => cluster.release('upgrade'),
      ));

    test('params that Annex has no permission to read', () => {
      const objects = [
        {
          apiVersion: API,
          kind: 'ValidatingAdmissionPolicy',
          metadata: { name: 'alerts' },
          spec: {
            paramKind: { apiVersion: 'v1', kind: 'ConfigMap' },
            matchConstraints: {
              resourceRules: [
                { apiGroups: ['alerts.example.com'], apiVersions: ['*'], resources: ['none'], operations: ['CREATE'] },
              ],
            },
            validations: [{ expression: 'true' }],
          },
        },
        {
          apiVersion: API,
          kind: 'ValidatingAdmissionPolicyBinding',
          metadata: { name: 'alerts' },
          spec: {
            policyName: 'alerts',
            validationActions: ['Deny'],
            paramRef: { name: 'none', namespace: 'default', parameterNotFoundAction: 'Deny' },
          },
        },
      ];
      const stdin = JSON.stringify({ apiVersion: 'v1', kind: 'List', items: objects });
      return fire(
        ['AnnexAdmissionParamsUnreadable'],
        () => cluster.kubectl.ok(['apply', '-f', '-'], { stdin }),
        () => cluster.kubectl.ok(['delete', '-f', '-'], { stdin }),
      );
    });
  });
}
