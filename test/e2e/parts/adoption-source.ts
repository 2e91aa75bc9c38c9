import type { JsonObject } from '../../../src/apimachinery/json/json.js';
import { digList, digText, treeOf } from '../../integration/client.js';
import { eventually } from '../../integration/server.js';
import { run, type TestCluster } from '../cluster.js';
import { available, condition, definitionText, widgetsPath, widgetText } from '../widgets.js';

const [FREED, BY_HAND, LEFT] = ['freed.example.com', 'byhand.example.com', 'left.example.com'] as const;
export const SOURCE_GROUPS: readonly string[] = [FREED, BY_HAND, LEFT];
const NAMESPACE = 'sources';
const MERGE = { 'content-type': 'application/merge-patch+json' };

/** The cluster's own copy of a group that Annex serves. */
export function adoptionSource(cluster: TestCluster): void {
  describe("the cluster's copy", () => {
    const before = new Map<string, JsonObject[]>();
    const listed = async (group: string): Promise<JsonObject[]> => {
      const answer = await cluster.http.get(widgetsPath(NAMESPACE, '', group));
      expect(answer.status).toBe(200);
      return digList(treeOf(answer), 'items') as JsonObject[];
    };
    const isThere = async (...object: string[]): Promise<boolean> =>
      (await cluster.kubectl.run(['get', ...object])).code === 0;
    const goes = (...object: string[]): Promise<unknown> =>
      eventually(`${object.join(' ')} goes`, async () => ((await isThere(...object)) ? undefined : true));
    /** Checks that Annex returns the same objects and that their dependents still exist. */
    const isAsBefore = async (group: string): Promise<void> => {
      expect(await listed(group)).toEqual(before.get(group));
      expect(await isThere('-n', NAMESPACE, 'configmap', `of-${group}`)).toBe(true);
    };
    const leftOvers = async (): Promise<string> => {
      const { args } = cluster.replica(0).daemon;
      const out = await run(process.execPath, [args[0] ?? '', 'doctor', ...args.slice(2)]);
      return out.split('\n').find((line) => line.startsWith('left-overs of adoptions:')) ?? '';
    };

    test('remains after a switch, and the Adoption reports its size', async () => {
      const { http, kubectl } = cluster;
      await available(cluster, 'kubeannex.io', 'v1alpha1');
      await kubectl.ok(['create', 'namespace', NAMESPACE]);
      for (const group of SOURCE_GROUPS) {
        await kubectl.ok(['create', '-f', '-'], { stdin: definitionText(group, 'cluster', ['v1', 'v1beta1']) });
        const path = widgetsPath(NAMESPACE, '', group);
        await eventually('widgets are served', async () => ((await http.get(path)).status === 200 ? true : undefined));
        for (const [name, metadata] of [
          ['held', { finalizers: ['example.com/hold'] }],
          ['owner', {}],
        ] as const) {
          const made = await http.send({
            method: 'POST',
            path,
            body: widgetText(name, { colour: 'red' }, metadata, group),
          });
          expect(made.status).toBe(201);
          if (name !== 'owner') continue;
          const owner = {
            apiVersion: `${group}/v1`,
            kind: 'Widget',
            name,
            uid: digText(treeOf(made), 'metadata', 'uid'),
          };
          const metadataOfChild = { namespace: NAMESPACE, name: `of-${group}`, ownerReferences: [owner] };
          const child = { apiVersion: 'v1', kind: 'ConfigMap', metadata: metadataOfChild };
          await kubectl.ok(['create', '-f', '-'], { stdin: JSON.stringify(child) });
        }
        const adoption = { apiVersion: 'kubeannex.io/v1alpha1', kind: 'Adoption', metadata: { name: group } };
        const stdin = JSON.stringify({ ...adoption, spec: { servedBy: 'Annex' } });
        await kubectl.ok(['create', '-f', '-'], { stdin });
      }
      for (const group of SOURCE_GROUPS) {
        await condition(cluster, `adoption/${group}`, 'Switched', ({ status }) => status === 'True');
        const kept = await condition(cluster, `adoption/${group}`, 'SourceRetained', ({ status }) => status === 'True');
        expect(kept.message).toMatch(
          /^the cluster keeps 2 objects .* about \d+(\.\d)? (B|KiB) in etcd\. .*safe to delete/,
        );
        before.set(group, await listed(group));
      }
      expect(await leftOvers()).toContain(`Annex serves ${FREED}, and the cluster keeps a copy in etcd`);
    });

    test('is deleted with its finalizers if the spec does not retain it, and Annex keeps everything', async () => {
      const { kubectl } = cluster;
      const patch = '{"spec":{"source":{"retain":false}}}';
      await kubectl.ok(['patch', 'adoption', FREED, '--type=merge', '-p', patch]);
      const freed = await condition(cluster, `adoption/${FREED}`, 'SourceRetained', ({ status }) => status === 'False');
      expect(freed.reason).toBe('Freed');
      expect(await isThere('crd', `widgets.${FREED}`)).toBe(false);
      await goes('validatingadmissionpolicy', `annex-adoption.${FREED}`);
      await isAsBefore(FREED);
      expect(await leftOvers()).not.toContain(FREED);
    });

    test('is deleted if its definition is deleted by hand, even if objects have finalizers', async () => {
      await cluster.kubectl.ok(['delete', 'crd', `widgets.${BY_HAND}`, '--timeout=90s']);
      await goes('validatingadmissionpolicy', `annex-adoption.${BY_HAND}`);
      await isAsBefore(BY_HAND);
    });

    test('stays when the Adoption is deleted and Annex keeps the group, and the doctor names it', async () => {
      const { http, kubectl } = cluster;
      await kubectl.ok(['delete', 'adoption', LEFT, '--timeout=60s']);
      await isAsBefore(LEFT);
      expect(await isThere('crd', `widgets.${LEFT}`)).toBe(true);
      expect(await leftOvers()).toContain(
        `Annex serves ${LEFT}, and the cluster keeps a copy in etcd: kubectl delete crd`,
      );
      const path = widgetsPath(NAMESPACE, 'owner', LEFT);
      const body = '{"spec":{"size":"x"}}';
      expect((await http.send({ method: 'PATCH', path, body, headers: MERGE })).status).toBe(200);
    });

    test('the groups are ordinary types of Annex', async () => {
      const { http, kubectl } = cluster;
      for (const group of SOURCE_GROUPS) {
        const path = widgetsPath(NAMESPACE, 'held', group);
        await http.send({ method: 'PATCH', path, body: '{"metadata":{"finalizers":null}}', headers: MERGE });
        // Dependents of its objects are deleted with the objects, and not before.
        await http.send({ method: 'DELETE', path: widgetsPath(NAMESPACE, 'owner', group) });
        await goes('-n', NAMESPACE, 'configmap', `of-${group}`);
        if (group !== LEFT) await kubectl.ok(['delete', 'adoption', group, '--timeout=60s']);
        await kubectl.ok(['delete', 'rd', `widgets.${group}`, '--timeout=60s']);
      }
      for (const kind of ['validatingadmissionpolicybinding', 'validatingadmissionpolicy'])
        await kubectl.ok(['delete', kind, `annex-adoption.${LEFT}`]);
      await kubectl.ok(['delete', 'namespace', NAMESPACE, '--timeout=60s']);
    });
  });
}
