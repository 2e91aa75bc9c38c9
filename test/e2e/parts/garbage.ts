import { digText, treeOf } from '../../integration/client.js';
import { eventually } from '../../integration/server.js';
import type { TestCluster } from '../cluster.js';
import { GROUP, widgetsPath, widgetText } from '../widgets.js';

const NAMESPACE = 'owners';
const MAPS = `/api/v1/namespaces/${NAMESPACE}/configmaps`;

interface Owner {
  readonly apiVersion: string;
  readonly kind: string;
  readonly name: string;
  readonly uid: string;
  readonly blockOwnerDeletion?: boolean;
}

/** The cluster's garbage collector treats its own objects and those of Annex alike. */
export function garbage(cluster: TestCluster): void {
  const posted = (path: string, body: object | string) => cluster.http.post(path, body);

  async function map(name: string, owners: readonly Owner[] = []): Promise<Owner> {
    const metadata = { name, ownerReferences: owners };
    const answer = await posted(MAPS, { apiVersion: 'v1', kind: 'ConfigMap', metadata });
    expect(answer.status).toBe(201);
    return { apiVersion: 'v1', kind: 'ConfigMap', name, uid: digText(treeOf(answer), 'metadata', 'uid') };
  }

  async function widget(name: string, owners: readonly Owner[] = []): Promise<Owner> {
    const answer = await posted(
      widgetsPath(NAMESPACE),
      widgetText(name, { colour: 'red' }, { ownerReferences: owners }),
    );
    expect(answer.status).toBe(201);
    return { apiVersion: `${GROUP}/v1`, kind: 'Widget', name, uid: digText(treeOf(answer), 'metadata', 'uid') };
  }

  const pathOf = ({ kind, name }: Owner): string =>
    kind === 'Widget' ? widgetsPath(NAMESPACE, name) : `${MAPS}/${name}`;
  const there = async (object: Owner): Promise<boolean> => (await cluster.http.get(pathOf(object))).status === 200;
  const gone = (object: Owner): Promise<true> =>
    eventually(`${object.kind} ${object.name} is gone`, async () => ((await there(object)) ? undefined : true));
  const remove = async (object: Owner, policy: string): Promise<void> => {
    const answer = await cluster.http.send({ method: 'DELETE', path: `${pathOf(object)}?propagationPolicy=${policy}` });
    expect(answer.status).toBeLessThan(300);
  };

  describe('garbage collection', () => {
    beforeAll(() => cluster.kubectl.ok(['create', 'namespace', NAMESPACE]));

    test('an Annex object is deleted after its owner in the cluster', async () => {
      const owner = await map('owner-map');
      const dependent = await widget('of-map', [owner]);
      await remove(owner, 'Background');
      await gone(dependent);
    });

    test('a cluster object is deleted after its owner in Annex', async () => {
      const owner = await widget('owner-widget');
      const dependent = await map('of-widget', [owner]);
      const grandchild = await widget('of-of-widget', [dependent]);
      await remove(owner, 'Background');
      await gone(dependent);
      await gone(grandchild);
    });

    test('foreground deletion deletes the owner last', async () => {
      const owner = await widget('foreground');
      const dependent = await map('foreground-map', [{ ...owner, blockOwnerDeletion: true }]);
      await remove(owner, 'Foreground');
      await gone(owner);
      expect(await there(dependent)).toBe(false);
    });

    test('orphans stay, without the owner reference', async () => {
      const owner = await widget('orphaning');
      const [dependent, sibling] = [await map('orphan-map', [owner]), await widget('orphan-widget', [owner])];
      await remove(owner, 'Orphan');
      await gone(owner);
      for (const object of [dependent, sibling]) {
        expect(treeOf(await cluster.http.get(pathOf(object)))['metadata']).not.toHaveProperty('ownerReferences');
      }
    });
  });
}
