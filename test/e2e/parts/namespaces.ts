import { digList, treeOf } from '../../integration/client.js';
import { eventually } from '../../integration/server.js';
import type { TestCluster } from '../cluster.js';
import { GROUP, widgetsPath, widgetText } from '../widgets.js';

const MANY = 150;

/** The cluster manages the lifecycle of namespaces. */
export function namespaces(cluster: TestCluster): void {
  const kubectl = (...args: string[]): Promise<string> => cluster.kubectl.ok(args);
  const create = (namespace: string, name: string, metadata: object = {}) =>
    cluster.http.post(widgetsPath(namespace), widgetText(name, { colour: 'red' }, metadata));
  const gone = (namespace: string): Promise<true> =>
    eventually(`${namespace} is gone`, async () =>
      (await cluster.http.get(`/api/v1/namespaces/${namespace}`)).status === 404 ? true : undefined,
    );

  describe('namespaces', () => {
    test('creates nothing in a namespace that does not exist', async () => {
      const answer = await create('nowhere', 'one');
      expect([answer.status, treeOf(answer)['message']]).toEqual([404, 'namespaces "nowhere" not found']);
    });

    test('creates objects in a new namespace', async () => {
      await kubectl('create', 'namespace', 'fresh');
      expect((await create('fresh', 'one')).status).toBe(201);
      await kubectl('delete', 'namespace', 'fresh', '--wait=false');
    });

    test('a terminating namespace rejects new objects, and is deleted after its last object', async () => {
      await kubectl('create', 'namespace', 'going');
      expect((await create('going', 'held', { finalizers: ['example.com/hold'] })).status).toBe(201);
      await kubectl('delete', 'namespace', 'going', '--wait=false');
      const answer = await eventually('the namespace is known to go', async () => {
        const tried = await create('going', `new-${performance.now().toFixed(0)}`);
        return tried.status === 403 ? tried : undefined;
      });
      const { message, details } = treeOf(answer);
      expect(message).toMatch(
        /^widgets\.e2e\.example\.com "new-\d+" is forbidden: unable to create new content in namespace going because it is being terminated$/,
      );
      const said = 'namespace going is being terminated';
      const cause = { reason: 'NamespaceTerminating', message: said, field: 'metadata.namespace' };
      expect(details).toMatchObject({ causes: [cause] });
      // The namespace controller reports what it waits for.
      await eventually('the condition of the namespace', async () => {
        const status = await kubectl('get', 'namespace', 'going', '-o', 'jsonpath={.status.conditions}');
        return status.includes(`widgets.${GROUP} has 1 resource instances`) ? true : undefined;
      });
      await kubectl(
        'patch',
        `widgets.${GROUP}`,
        'held',
        '-n',
        'going',
        '--type=merge',
        '-p',
        '{"metadata":{"finalizers":null}}',
      );
      await gone('going');
    });

    test('deleting a namespace deletes all its objects', async () => {
      await kubectl('create', 'namespace', 'full');
      const made = await Promise.all(Array.from({ length: MANY }, (_, i) => create('full', `w-${i}`)));
      expect(made.map(({ status }) => status)).toEqual(made.map(() => 201));
      await kubectl('delete', 'namespace', 'full', '--timeout=90s');
      const list = treeOf(await cluster.http.get(`/apis/${GROUP}/v1/widgets`));
      expect(digList(list, 'items').filter((item) => JSON.stringify(item).includes('"namespace":"full"'))).toEqual([]);
    });
  });
}
