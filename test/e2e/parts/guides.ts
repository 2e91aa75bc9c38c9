import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Guide, shellBlocks } from '../../docs/guides.js';
import { type TestCluster, TOOLS } from '../cluster.js';
import { definitionText } from '../widgets.js';

/** Runs the commands of the guides that need a cluster with Annex. */
export function guides(cluster: TestCluster): void {
  describe('the guides', () => {
    let guide: Guide;
    beforeAll(async () => {
      const folder = join(cluster.folder, 'guides');
      mkdirSync(folder);
      const definitions = join(folder, 'definitions.yaml');
      writeFileSync(definitions, definitionText('gitops.example.com', 'annex'));
      await cluster.kubectl.ok(['create', 'namespace', 'argocd']);
      const programs = { kubectl: `"${join(TOOLS, 'kubectl')}"`, helm: `"${join(TOOLS, 'helm')}"` };
      const names = { KUBECONFIG: cluster.adminConfig, ARGOCD_NAMESPACE: 'argocd', DEFINITIONS: definitions };
      guide = new Guide(folder, programs, names);
    });

    async function follow(page: string): Promise<string> {
      let printed = '';
      for (const { kind, text } of shellBlocks(page)) if (kind === 'sh pods') printed += await guide.run(text);
      return printed;
    }

    test('install.md', async () => {
      expect(await follow('install.md')).toMatch(/^policyreports\.wgpolicyk8s\.io +True +\S+ +\d+ +\S+$/m);
    });

    test('troubleshooting.md', async () => {
      expect(await follow('troubleshooting.md')).toMatch(/^v1\.kubeannex\.io +annex-system\/annex +True/m);
    });

    test('gitops.md', async () => {
      expect(await follow('gitops.md')).toContain('condition met');
      const script = await cluster.kubectl.ok(['-n', 'argocd', 'get', 'configmap', 'argocd-cm', '-o', 'yaml']);
      expect(script).toContain('resource.customizations.health.kubeannex.io_ResourceDefinition');
      await cluster.kubectl.ok(['delete', 'rd', 'widgets.gitops.example.com']);
    });
  });
}
