import { digList, treeOf } from '../../integration/client.js';
import { eventually } from '../../integration/server.js';
import { NAMESPACE, type TestCluster } from '../cluster.js';
import { available, condition, definitionText, widgetText } from '../widgets.js';

/** Annex creates and deletes the APIServices of definitions. */
export function definitions(cluster: TestCluster): void {
  const kubectl = (...args: string[]): Promise<string> => cluster.kubectl.ok(args);
  const create = (text: string): Promise<string> => cluster.kubectl.ok(['create', '-f', '-'], { stdin: text });
  const service = async (name: string): Promise<string> =>
    (await cluster.kubectl.run(['get', 'apiservice', name, '-o', 'json'])).stdout;
  const registered = (group: string, status: 'True' | 'False') =>
    condition(cluster, `rd/widgets.${group}`, 'Registered', (found) => found.status === status);
  const unregistered = (name: string): Promise<true> =>
    eventually(`${name} is gone`, async () => ((await service(name)) === '' ? true : undefined));

  describe('definitions', () => {
    test('a group version that a CustomResourceDefinition serves is refused until that is deleted', async () => {
      const group = 'taken.example.com';
      await create(definitionText(group, 'cluster'));
      await available(cluster, group, 'v1');
      await create(definitionText(group, 'annex'));
      expect(await registered(group, 'False')).toEqual({
        status: 'False',
        reason: 'GroupVersionTaken',
        message: `the group version ${group}/v1 cannot be registered: the APIService v1.${group} belongs to the cluster itself, which serves a CustomResourceDefinition or a type of its own there`,
      });
      const [row = ''] = (await kubectl('get', 'rd', `widgets.${group}`, '--no-headers')).split('\n');
      expect(row.split(/ +/).slice(0, 4)).toEqual([`widgets.${group}`, 'GroupVersionTaken', 'v1', '0']);
      await eventually('an event', async () => {
        const text = await kubectl('describe', 'rd', `widgets.${group}`);
        return /Warning +GroupVersionTaken .*cannot be registered/.test(text) ? true : undefined;
      });
      await kubectl('delete', 'crd', `widgets.${group}`);
      expect(await registered(group, 'True')).toMatchObject({ reason: 'APIServiceRegistered' });
      await available(cluster, group, 'v1');
    });

    test('each version has an APIService with its priority, which is deleted with the version', async () => {
      const group = 'versions.example.com';
      await create(definitionText(group, 'annex', ['v1', 'v2']));
      await available(cluster, group, 'v1');
      await available(cluster, group, 'v2');
      const priority = async (version: string): Promise<unknown> =>
        (treeOf({ text: await service(`${version}.${group}`) })['spec'] as { versionPriority?: number })
          .versionPriority;
      expect([await priority('v2'), await priority('v1')]).toEqual([100, 99]);
      await create(widgetText('old', { colour: 'red' }, { namespace: 'default' }, group));
      const read = await kubectl('get', `widgets.v2.${group}`, 'old', '-o', 'jsonpath={.apiVersion}');
      expect(read).toBe(`${group}/v2`);
      await cluster.kubectl.ok(['apply', '--server-side', '--force-conflicts', '-f', '-'], {
        stdin: definitionText(group, 'annex'),
      });
      await unregistered(`v2.${group}`);
      expect(await kubectl('get', `widgets.v1.${group}`, 'old', '-o', 'name')).toBe(`widget.${group}/old\n`);
    });

    test('only Annex sets the progress of an adoption, not even system:masters may', async () => {
      const group = 'pretended.example.com';
      const stage = 'kubeannex.io/adoption';
      const refused =
        /is forbidden: the annotation kubeannex\.io\/adoption records the progress of an Adoption and is set only by Annex/;
      const adopted = definitionText(group, 'annex').replace('"metadata":{', `$&"annotations":{"${stage}":"Served"},`);
      const attempts = [
        { args: ['create', '-f', '-'], stdin: adopted },
        { args: ['apply', '--server-side', '-f', '-'], stdin: adopted },
      ];
      for (const { args, stdin } of attempts)
        expect((await cluster.kubectl.run(args, { stdin })).stderr).toMatch(refused);
      await create(definitionText(group, 'annex'));
      const annotate = ['annotate', 'rd', `widgets.${group}`, `${stage}=Switching`];
      expect((await cluster.kubectl.run(annotate)).stderr).toMatch(refused);
      const patch = JSON.stringify({ metadata: { annotations: { [stage]: 'Served' } } });
      const ways = ['--subresource=status', ''].map((flag) => [
        'patch',
        'rd',
        `widgets.${group}`,
        '--type=merge',
        '-p',
        patch,
        flag,
      ]);
      for (const way of ways) await cluster.kubectl.run(way.filter((word) => word !== ''));
      expect(await kubectl('get', 'rd', `widgets.${group}`, '-o', 'jsonpath={.metadata.annotations}')).toBe('');
      await kubectl('delete', 'rd', `widgets.${group}`);
    });

    test('an APIService that is changed or deleted is reconciled', async () => {
      const name = 'v1.versions.example.com';
      await kubectl('patch', 'apiservice', name, '--type=merge', '-p', '{"spec":{"versionPriority":7}}');
      const priority = ['get', 'apiservice', name, '-o', 'jsonpath={.spec.versionPriority}'];
      const mended = (): Promise<true> =>
        eventually('the priority is as it was', async () =>
          (await cluster.kubectl.run(priority)).stdout === '100' ? true : undefined,
        );
      await mended();
      await kubectl('delete', 'apiservice', name);
      await mended();
    });

    test('deleting a definition deletes its objects, those with finalizers last, then its APIService', async () => {
      const group = 'versions.example.com';
      const held = widgetText(
        'held',
        { colour: 'red' },
        { namespace: 'default', finalizers: ['example.com/hold'] },
        group,
      );
      await create(held);
      await kubectl('delete', 'rd', `widgets.${group}`, '--wait=false');
      await eventually('only the held one is left', async () => {
        const items = digList(treeOf(await cluster.http.get(`/apis/${group}/v1/widgets`)), 'items');
        return items.length === 1 ? true : undefined;
      });
      const metadata = await kubectl('get', 'rd', `widgets.${group}`, '-o', 'json');
      expect(digList(treeOf({ text: metadata }), 'metadata', 'finalizers')).toEqual([
        'customresourcecleanup.apiextensions.k8s.io',
      ]);
      await kubectl('patch', `widgets.v1.${group}`, 'held', '--type=merge', '-p', '{"metadata":{"finalizers":null}}');
      await unregistered(`v1.${group}`);
      expect((await cluster.http.get(`/apis/kubeannex.io/v1/resourcedefinitions/widgets.${group}`)).status).toBe(404);
    });

    test('a missing permission is reported by a condition and a metric until it is granted', async () => {
      const group = 'forbidden.example.com';
      await kubectl('delete', 'clusterrolebinding', 'annex');
      // Wait until the cluster's own authorizer has noticed.
      await eventually('the right is gone', async () => {
        const as = `system:serviceaccount:${NAMESPACE}:annex`;
        const { stdout } = await cluster.kubectl.run(['auth', 'can-i', 'create', 'apiservices', '--as', as]);
        return stdout.trim() === 'no' ? true : undefined;
      });
      await create(definitionText(group, 'annex'));
      const { reason, message } = await registered(group, 'False');
      expect(reason).toBe('RegistrationFailed');
      expect(message).toMatch(
        /could not be registered: apiservices\.apiregistration\.k8s\.io is forbidden: User "system:serviceaccount:/,
      );
      const metric = async (): Promise<string> => {
        const { text } = await cluster.direct(0).get('/metrics');
        return /^annex_cluster_link_broken\{link="apiservices"\} (\d)$/m.exec(text)?.[1] ?? '';
      };
      await eventually('the metric', async () => ((await metric()) === '1' ? true : undefined));
      await cluster.release('upgrade');
      expect(await registered(group, 'True')).toMatchObject({ reason: 'APIServiceRegistered' });
      await eventually('the metric', async () => ((await metric()) === '0' ? true : undefined));
      await kubectl('delete', 'rd', `widgets.${group}`);
      await unregistered(`v1.${group}`);
      expect((await cluster.http.get(`/apis/${group}/v1`)).status).toBe(404);
    });
  });
}
