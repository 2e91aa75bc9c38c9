import { digList, digText, treeOf } from '../../integration/client.js';
import { eventually } from '../../integration/server.js';
import { NAMESPACE, run, type TestCluster } from '../cluster.js';
import { condition, definitionText, read, widgetsPath, widgetText } from '../widgets.js';

export const HELM_GROUP = 'helmed.example.com';
const OBJECTS = 'helmed';
const HOOK = ['-n', NAMESPACE, 'get', 'pods', '-l', 'app.kubernetes.io/name=annex-uninstall-check', '-o', 'json'];

/** helm operations during each phase of a group's move. */
export function adoptionHelm(cluster: TestCluster): void {
  describe('helm while a group moves', () => {
    const phase = async (): Promise<string> =>
      digText(treeOf(await cluster.http.get(`/apis/kubeannex.io/v1alpha1/adoptions/${HELM_GROUP}`)), 'status', 'phase');
    const object = (name: string): string => widgetText(name, { colour: 'red' }, {}, HELM_GROUP);

    /** Plays the kubelet: runs the hook pod's command under its service account, and reports how it ended. */
    const runHook = async (signal: AbortSignal): Promise<void> => {
      const { args } = cluster.replica(0).daemon;
      const config = args.find((arg) => arg.startsWith('--kubeconfig=')) ?? '';
      while (!signal.aborted) {
        for (const pod of digList(treeOf({ text: await cluster.kubectl.ok(HOOK) }), 'items')) {
          if (digText(pod, 'status', 'phase') !== 'Pending') continue;
          const given = digList(pod, 'spec', 'containers', 0, 'args').map(String);
          const ended = await run(process.execPath, [args[0] ?? '', ...given, config]).then(
            () => 'Succeeded',
            () => 'Failed',
          );
          const path = `/api/v1/namespaces/${NAMESPACE}/pods/${digText(pod, 'metadata', 'name')}/status`;
          const headers = { 'content-type': 'application/merge-patch+json' };
          const body = JSON.stringify({ status: { phase: ended } });
          await cluster.http.send({ method: 'PATCH', path, body, headers });
        }
        await new Promise((resolve) => setTimeout(resolve, 300));
      }
    };

    const uninstallIsRefused = async (): Promise<void> => {
      const over = new AbortController();
      const kubelet = runHook(over.signal);
      try {
        await expect(cluster.helm('uninstall', 'annex', '--namespace', NAMESPACE, '--timeout=60s')).rejects.toThrow(
          /pre-delete|annex-uninstall-check/,
        );
      } finally {
        over.abort();
        await kubelet;
      }
    };

    /** Upgrades and rolls back until the phase is reached. Returns the phases in which it did so. */
    const upgradeUntil = async (wanted: string): Promise<Set<string>> => {
      const seen = new Set<string>();
      const writes = { acknowledged: 0, unexpected: [] as number[] };
      for (; !seen.has(wanted); i++) {
        const now = await phase();
        seen.add(now);
        if (now === 'Failed') throw new Error(cluster.logs());
        if (i % 2 === 0) await cluster.release('upgrade', `resources.requests.cpu=${50 + i}m`);
        else await cluster.helm('rollback', 'annex', '--namespace', NAMESPACE);
        const path = widgetsPath(OBJECTS, '', HELM_GROUP);
        const { status } = await cluster.http.send({ method: 'POST', path, body: object(`made-${i}`) });
        if (status === 201) writes.acknowledged++;
        else if (status !== 403 && status !== 429) writes.unexpected.push(status);
        expect((await read(cluster.http, path)).status).toBe(200);
      }
      expect(writes.unexpected).toEqual([]);
      expect(writes.acknowledged).toBeGreaterThan(0);
      total += writes.acknowledged;
      return seen;
    };
    let total = 0;
    let i = 0;

    const isComplete = async (): Promise<void> => {
      const list = treeOf(await cluster.http.get(widgetsPath(OBJECTS, '', HELM_GROUP)));
      expect(digList(list, 'items')).toHaveLength(total);
    };

    test('upgrade and rollback are harmless on the way to Annex', async () => {
      const { http, kubectl } = cluster;
      await kubectl.ok(['create', 'namespace', OBJECTS]);
      await kubectl.ok(['create', '-f', '-'], { stdin: definitionText(HELM_GROUP, 'cluster') });
      const path = widgetsPath(OBJECTS, '', HELM_GROUP);
      await eventually('widgets are served', async () => ((await http.get(path)).status === 200 ? true : undefined));
      const adoption = {
        apiVersion: 'kubeannex.io/v1alpha1',
        kind: 'Adoption',
        metadata: { name: HELM_GROUP },
        spec: {},
      };
      await kubectl.ok(['create', '-f', '-'], { stdin: JSON.stringify(adoption) });
      await upgradeUntil('InSync');
      await kubectl.ok(['patch', 'adoption', HELM_GROUP, '--type=merge', '-p', '{"spec":{"servedBy":"Annex"}}']);
      expect([...(await upgradeUntil('Served'))]).toEqual(expect.arrayContaining(['Preparing', 'Served']));
      await isComplete();
    });

    test('uninstall is refused while Annex serves the group, and removes nothing', async () => {
      const { http, kubectl } = cluster;
      await uninstallIsRefused();
      // helm considers the release as being uninstalled until its status is changed.
      const history = JSON.parse(await cluster.helm('history', 'annex', '--namespace', NAMESPACE, '-o', 'json')) as {
        readonly revision: number;
      }[];
      await cluster.helm('rollback', 'annex', String(history.at(-1)?.revision), '--namespace', NAMESPACE);
      await kubectl.ok(['-n', NAMESPACE, 'get', 'deployment,service', 'annex']);
      await kubectl.ok(['get', 'clusterrole', 'annex']);
      await isComplete();
      const path = widgetsPath(OBJECTS, '', HELM_GROUP);
      expect((await http.send({ method: 'POST', path, body: object('after-uninstall') })).status).toBe(201);
      total++;
    });

    test('the hook stays when the values no longer name the group, and goes when a value allows it', async () => {
      const hooks = (): Promise<string> => cluster.helm('get', 'hooks', 'annex', '--namespace', NAMESPACE);
      await cluster.release('upgrade', 'adoption.groups=null');
      expect(await hooks()).toContain('args: [uninstall-check]');
      await cluster.release('upgrade', 'adoption.leaveOnUninstall=true');
      expect(await hooks()).not.toContain('args: [uninstall-check]');
      await cluster.release('upgrade');
    });

    test('upgrade, rollback, and uninstall are harmless on the way back', async () => {
      const { kubectl } = cluster;
      const spec = { servedBy: 'Cluster', dependents: 'Abandon' };
      await kubectl.ok(['patch', 'adoption', HELM_GROUP, '--type=merge', '-p', JSON.stringify({ spec })]);
      await eventually('it goes back', async () => ((await phase()) === 'Served' ? undefined : true));
      const { args } = cluster.replica(0).daemon;
      const config = args.find((arg) => arg.startsWith('--kubeconfig=')) ?? '';
      const check = run(process.execPath, [args[0] ?? '', 'uninstall-check', config]);
      const refusal = await check.then(
        () => '',
        (error: unknown) => String(error),
      );
      if ((await phase()) === 'Returning') expect(refusal).toContain(`Annex serves ${HELM_GROUP}`);
      await upgradeUntil('InSync');
      await condition(cluster, `adoption/${HELM_GROUP}`, 'Returned', ({ status }) => status === 'True');
      await isComplete();
      await kubectl.ok(['delete', 'adoption', HELM_GROUP, '--timeout=60s']);
      await kubectl.ok(['delete', 'crd', `widgets.${HELM_GROUP}`, '--timeout=60s']);
      await kubectl.ok(['delete', 'namespace', OBJECTS, '--timeout=60s']);
    });
  });
}
