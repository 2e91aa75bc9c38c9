import type { TestCluster } from '../cluster.js';

/** What the demonstration shows, through the cluster's API server. */
export function demo(cluster: TestCluster): void {
  describe('the demo data', () => {
    test('the group is available', async () => {
      expect(await cluster.kubectl.ok(['api-resources', '--api-group=kubeannex.io'])).toMatch(
        /resourcedefinitions +rd +kubeannex.io\/v1 +false +ResourceDefinition/,
      );
    });
  });
}
