import { readdirSync } from 'node:fs';
import { basename, join } from 'node:path';
import { rows } from '../../conformance/kubectl.js';
import { digList, digText, treeOf } from '../../integration/client.js';
import { eventually, ROOT } from '../../integration/server.js';
import { run, type TestCluster } from '../cluster.js';
import { available, condition, converted, discovered } from '../widgets.js';

const CRDS = join(ROOT, 'examples/crds');
const DISCOVERY = 'application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList';
const REPORTS = 500;

/** The demo data, read through the cluster's API server. */
export function demo(cluster: TestCluster): void {
  const kubectl = (...args: string[]): Promise<string> => cluster.kubectl.ok(args);

  describe('the demo data', () => {
    beforeAll(async () => {
      const files = readdirSync(CRDS).map((file) => join(CRDS, file));
      await cluster.kubectl.ok(['apply', '--server-side', '-f', '-'], { stdin: await converted(...files) });
      await available(cluster, 'wgpolicyk8s.io', 'v1alpha2');
      await available(cluster, 'aquasecurity.github.io', 'v1alpha1');
      for (const file of files) {
        const [group = '', resource = ''] = basename(file, '.yaml').split('_');
        await discovered(cluster, group, resource);
      }
      await kubectl('create', 'namespace', 'reports');
    });

    test('ResourceDefinitions belong to a group of the cluster', async () => {
      const [, ...types] = rows(await kubectl('api-resources', '--api-group=kubeannex.io'));
      expect(types).toEqual([
        ['adoptions', 'adopt', 'kubeannex.io/v1alpha1', 'false', 'Adoption'],
        ['localqueries', 'kubeannex.io/v1alpha1', 'true', 'LocalQuery'],
        ['queries', 'kubeannex.io/v1alpha1', 'false', 'Query'],
        ['resourcedefinitions', 'rd', 'kubeannex.io/v1', 'false', 'ResourceDefinition'],
        ['views', 'kubeannex.io/v1alpha1', 'false', 'View'],
      ]);
    });

    test('their status has the conditions Established and Registered', async () => {
      const object = 'rd/policyreports.wgpolicyk8s.io';
      expect(await condition(cluster, object, 'Established')).toMatchObject({ status: 'True' });
      const registered = await condition(cluster, object, 'Registered', ({ status }) => status === 'True');
      expect(registered.reason).toBe('APIServiceRegistered');
      expect(registered.message).toMatch(/^the group version wgpolicyk8s\.io\/v1\w+ is registered with the cluster$/);
    });

    test('accepts the samples unchanged and prints their columns', async () => {
      await kubectl('apply', '-n', 'reports', '-f', join(ROOT, 'examples/objects'));
      const [head, ...reports] = rows(await kubectl('get', 'policyreports', '-n', 'reports'));
      expect(head).toEqual(['NAME', 'PASS', 'FAIL', 'WARN', 'ERROR', 'SKIP', 'AGE']);
      expect(reports).toHaveLength(4);
    });

    test('the script creates many reports', async () => {
      const { cert, key } = cluster.certificates.client('demo', ['system:masters']);
      const user = { 'client-certificate-data': base64(cert), 'client-key-data': base64(key) };
      const config = cluster.kubeconfigOf('demo', user);
      await run(process.execPath, [join(ROOT, 'examples/generate-reports.mjs'), config, String(REPORTS), '10']);
      const names = await kubectl('get', 'policyreports', '-A', '-o', 'name', '--chunk-size=50', '-l', 'demo/shard');
      expect(names.trim().split('\n')).toHaveLength(REPORTS);
    });

    test('a watch delivers a patch', async () => {
      const watch = cluster.kubectl.start(['get', 'policyreport', 'report-00007', '-n', 'team-7', '-w', '-o', 'name']);
      const seen = (): number => watch.out().trim().split('\n').length;
      await eventually('the state', () => Promise.resolve(watch.out() === '' ? undefined : true));
      const patch = '{"summary":{"pass":9,"fail":1}}';
      await kubectl('patch', 'policyreport', 'report-00007', '-n', 'team-7', '--type=merge', '-p', patch);
      await eventually('the patch', () => Promise.resolve(seen() >= 2 ? true : undefined));
      watch.child.kill();
      await watch.result;
    });

    test('kubectl explain describes the fields', async () => {
      const text = await kubectl('explain', 'policyreport.summary');
      expect(text).toContain('GROUP:      wgpolicyk8s.io\nKIND:       PolicyReport\n');
      expect(text).toMatch(/FIELD: summary <Object>/);
      expect(text).toMatch(/fail\t<integer>/);
    });

    test('aggregated discovery lists the groups as current', async () => {
      const answer = await cluster.http.get('/apis', { accept: DISCOVERY });
      const groups = digList(treeOf(answer), 'items');
      const group = groups.find((one) => digText(one, 'metadata', 'name') === 'wgpolicyk8s.io');
      expect(digList(group, 'versions').map((version) => digText(version, 'freshness'))).toEqual(
        digList(group, 'versions').map(() => 'Current'),
      );
      const resources = digList(group, 'versions').flatMap((version) => digList(version, 'resources'));
      expect(resources.map((one) => digText(one, 'resource'))).toContain('policyreports');
    });

    test.each(['/openapi/v2', '/openapi/v3/apis/wgpolicyk8s.io/v1alpha2'])('%s describes the types', async (path) => {
      const found = await eventually(`${path} with PolicyReport`, async () => {
        const answer = await cluster.http.get(path);
        return answer.status === 200 && answer.text.includes('PolicyReport') ? true : undefined;
      });
      expect(found).toBe(true);
    });
  });
}

const base64 = (text: string): string => Buffer.from(text).toString('base64');
