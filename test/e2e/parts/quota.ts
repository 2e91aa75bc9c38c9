import { digText, treeOf } from '../../integration/client.js';
import { eventually } from '../../integration/server.js';
import type { TestCluster } from '../cluster.js';
import { GROUP, widgetsPath, widgetText } from '../widgets.js';

const NAMESPACE = 'counted';
const COUNT = `count/widgets.${GROUP}`;

/** Quotas count the objects that Annex serves. */
export function quota(cluster: TestCluster): void {
  const create = (name: string) => cluster.http.post(widgetsPath(NAMESPACE), widgetText(name, { colour: 'red' }));
  const used = async (): Promise<string> => {
    const text = await cluster.kubectl.ok(['get', 'resourcequota', 'widgets', '-n', NAMESPACE, '-o', 'json']);
    return digText(treeOf({ text }), 'status', 'used', COUNT);
  };
  const counts = (wanted: string): Promise<true> =>
    eventually(`${wanted} are used`, async () => ((await used()) === wanted ? true : undefined));

  describe('a ResourceQuota', () => {
    test('counts objects as they are created and deleted', async () => {
      await cluster.kubectl.ok(['create', 'namespace', NAMESPACE]);
      await cluster.kubectl.ok(['create', 'quota', 'widgets', '-n', NAMESPACE, `--hard=${COUNT}=2`]);
      await counts('0');
      expect((await create('one')).status).toBe(201);
      expect((await create('two')).status).toBe(201);
      await counts('2');
    });

    test('refuses objects beyond the limit', async () => {
      const answer = await create('three');
      expect([answer.status, treeOf(answer)['message']]).toEqual([
        403,
        `widgets.${GROUP} "three" is forbidden: exceeded quota: widgets, requested: ${COUNT}=1, used: ${COUNT}=2, limited: ${COUNT}=2`,
      ]);
      await cluster.kubectl.ok(['delete', `widgets.${GROUP}`, 'one', '-n', NAMESPACE]);
      await counts('1');
      expect((await create('three')).status).toBe(201);
    });
  });
}
