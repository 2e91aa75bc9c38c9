import { mkdtempSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'yaml';
import { type JsonObject, objectAt } from '../../../src/apimachinery/json/json.js';
import { Guide, shellBlocks } from '../../docs/guides.js';
import { digList, digText, treeOf } from '../../integration/client.js';
import { eventually, ROOT } from '../../integration/server.js';
import { run, type TestCluster, TOOLS } from '../cluster.js';

const CRDS = join(ROOT, 'examples/crds');
const OBJECTS = join(ROOT, 'examples/objects');
const NAMESPACE = 'guided';
export const GUIDED_GROUPS: readonly string[] = ['wgpolicyk8s.io', 'aquasecurity.github.io'];

/** Returns the samples without owner references. Their owners are not here, so the garbage collector would delete them. */
function samples(): string {
  const items = readdirSync(OBJECTS).map((file): JsonObject => {
    const object = parse(readFileSync(join(OBJECTS, file), 'utf8')) as JsonObject;
    const { ownerReferences: _, ...metadata } = objectAt(object, 'metadata') ?? {};
    return { ...object, metadata };
  });
  return JSON.stringify({ apiVersion: 'v1', kind: 'List', items });
}

/** Runs docs/adopting-a-crd.md, command by command, for groups as their projects publish them. */
export function adoptionGuide(cluster: TestCluster): void {
  describe('the guide to adoptions', () => {
    const files = readdirSync(CRDS);
    const typesOf = (group: string): string[] =>
      files.filter((file) => file.startsWith(`${group}_`)).map((file) => file.slice(group.length + 1, -'.yaml'.length));
    /** Returns all objects of a group, in the preferred version of its APIService. */
    const objectsOf = async (group: string): Promise<JsonObject[]> => {
      const found: JsonObject[] = [];
      for (const plural of typesOf(group)) {
        const text = await cluster.kubectl.ok(['get', `${plural}.${group}`, '-A', '-o', 'json']);
        found.push(...(digList(treeOf({ text }), 'items') as JsonObject[]));
      }
      return found;
    };

    test('the groups are types of the cluster and have objects', async () => {
      const { kubectl } = cluster;
      // The demo tests left these definitions in Annex.
      for (const group of GUIDED_GROUPS)
        for (const plural of typesOf(group))
          await kubectl.ok(['delete', 'rd', `${plural}.${group}`, '--ignore-not-found', '--timeout=60s']);
      await kubectl.ok(['create', 'namespace', NAMESPACE]);
      await eventually('the definitions of the cluster are served', async () => {
        const applied = await kubectl.run(['apply', '--server-side', '-f', CRDS]);
        if (applied.code !== 0) return undefined;
        await kubectl.ok(['wait', '--for=condition=Established', '-f', CRDS, '--timeout=60s']);
        const { code } = await kubectl.run(['apply', '-n', NAMESPACE, '-f', '-'], { stdin: samples() });
        return code === 0 ? true : undefined;
      });
      const report = { apiVersion: 'wgpolicyk8s.io/v1alpha2', kind: 'ClusterPolicyReport', summary: { pass: 1 } };
      const stdin = JSON.stringify({ ...report, metadata: { name: 'of-the-cluster' } });
      await kubectl.ok(['create', '-f', '-'], { stdin });
    });

    test('make demo ends with a rehearsal of the group it has filled', async () => {
      const { cert, key } = cluster.certificates.client('demo', ['system:masters']);
      const [certificate, data] = [cert, key].map((text) => Buffer.from(text).toString('base64'));
      const config = cluster.kubeconfigOf('demo', { 'client-certificate-data': certificate, 'client-key-data': data });
      const out = await run('bash', [join(ROOT, 'examples/demo.sh'), config, '100'], {
        KUBECTL: join(TOOLS, 'kubectl'),
      });
      expect(out).toMatch(/^policyreports +Namespaced +v1alpha1,v1alpha2,v1beta1\* +None +\d+ +/m);
      expect(out).toContain('ValidatingAdmissionPolicy/plausible-reports: Annex enforces it');
      expect(out).toMatch(/^policyreports: \d{3} objects, \d+ bytes, equal on both sides/m);
      expect(out).toMatch(/^wgpolicyk8s\.io +Cluster +InSync +(\d+)\/\1 /m);
      await cluster.kubectl.ok(['delete', 'policyreports.wgpolicyk8s.io', '-A', '-l', 'demo/shard']);
    });

    const follow = async (group: string): Promise<void> => {
      const names = { GROUP: group, KUBECONFIG: cluster.adminConfig };
      const programs = { kubectl: `"${join(TOOLS, 'kubectl')}"` };
      const guide = new Guide(mkdtempSync(join(cluster.folder, 'adopting-')), programs, names);
      const blocks = shellBlocks('adopting-a-crd.md').map(({ text }) => text);
      expect(blocks).toHaveLength(6);
      const before = await objectsOf(group);
      const dots = group.replaceAll('.', '\\.');
      const seen = async (index: number, ...lines: readonly string[]): Promise<void> => {
        const printed = await guide.run(blocks[index] ?? '');
        for (const line of lines) expect(printed).toMatch(new RegExp(`^${line}`, 'm'));
      };
      const types = typesOf(group);
      await seen(
        0,
        ...types.map((plural) => `${plural}\\.${dots} +${dots}$`),
        ...types.map((plural) => `${plural} +\\w+ +`),
      );
      await seen(
        1,
        ...types.map((plural) => `${plural}: \\d+ objects, \\d+ bytes, equal on both sides \\(digest \\w+\\)$`),
      );
      await seen(
        2,
        'Accepted: True \\(Annex can serve the definitions of the group\\)$',
        'Switchable: True \\(nothing prevents switching the group to Annex\\)$',
        'AdmissionEnforced: True ',
        `${types[0] ?? ''}: \\d+ of \\d+, digest \\w+$`,
      );
      await seen(
        3,
        'Annex serves the group; writes were refused for \\d+\\.\\d s \\(the fence .*\\)$',
        `${dots} +Annex +Served`,
        `v1\\w+\\.${dots} +annex$`,
      );
      expect(await objectsOf(group)).toEqual(before);
      await seen(
        4,
        ...types.map((plural) => `${plural}\\.${dots} +${dots}$`),
        'the cluster keeps \\d+ objects as of the switch',
      );
      await seen(
        5,
        `Annex has ${before.length} objects of ${dots}; 0 were created there`,
        'the cluster serves the group again; writes were refused for \\d+\\.\\d s',
        'Done\\.$',
        `${types[0] ?? ''}\\.${dots} +${dots} +true(,true)*$`,
      );
      const uids = (objects: readonly JsonObject[]): string[] => objects.map((one) => digText(one, 'metadata', 'uid'));
      expect(uids(await objectsOf(group))).toEqual(uids(before));
    };

    test('the commands work for the groups of two projects', async () => {
      for (const [i, group] of GUIDED_GROUPS.entries())
        expect((await objectsOf(group)).length).toBeGreaterThanOrEqual([4, 3][i] ?? 1);
      await Promise.all(GUIDED_GROUPS.map(follow));
    });

    test('nothing of the adoptions is left', async () => {
      const { kubectl } = cluster;
      expect((await kubectl.ok(['get', 'adoptions', '-o', 'name'])).trim()).toBe('');
      await kubectl.ok(['delete', '-f', CRDS, '--timeout=60s']);
      await kubectl.ok(['delete', 'namespace', NAMESPACE, '--timeout=60s']);
    });
  });
}
