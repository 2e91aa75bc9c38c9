import { Http1, digText, treeOf } from '../../integration/client.js';
import { ADMIN, eventually } from '../../integration/server.js';
import { freePort, pause } from '../../storage/mongod.js';
import { NAMESPACE, outcomeOf, replaced, type TestCluster } from '../cluster.js';
import { available, definitionText, discovered, widgetsPath, widgetText } from '../widgets.js';

const SECOND = 'annex-second';
const GROUPS = { first: 'first.example.com', second: 'second.example.com' };
/** Both releases look at each other's APIServices in this time. */
const WATCHED_MILLIS = 15_000;

/** Two releases of Annex behind one kube-apiserver. */
export function releases(cluster: TestCluster): void {
  describe('a second release', () => {
    const flags = {
      'service-name': SECOND,
      'owner-cluster-role': undefined,
      'mongodb-database': 'second',
    };

    const servicesOf = async (group: string): Promise<string> => {
      const path = 'jsonpath={.spec.service.name} {.metadata.uid} {.metadata.resourceVersion}';
      return cluster.kubectl.ok(['get', 'apiservice', `v1.${group}`, '-o', path]);
    };

    test('does not start in one line where another one serves ResourceDefinitions', async () => {
      const [main = '', ...args] = cluster.replica(0).daemon.args;
      const port = String(await freePort());
      const { code, out } = await outcomeOf(process.execPath, [
        main,
        ...replaced(args, { ...flags, 'secure-port': port }),
      ]);
      expect(code).toBe(1);
      expect(out.trimEnd().split('\n').at(-1)).toContain(
        `the APIService v1.kubeannex.io belongs to another release of Annex, the Service ${NAMESPACE}/annex: delete it`,
      );
    });

    test('serves groups of its own beside the first one, and neither takes those of the other', async () => {
      const { kubectl, http } = cluster;
      const port = await freePort();
      const service = {
        apiVersion: 'v1',
        kind: 'Service',
        metadata: { name: SECOND, namespace: NAMESPACE },
        spec: { type: 'ExternalName', externalName: 'localhost', ports: [{ port }] },
      };
      await kubectl.ok(['create', '-f', '-'], { stdin: JSON.stringify(service) });
      const places = { 'secure-port': String(port), 'service-port': String(port), 'register-definitions': 'false' };
      const { daemon } = await cluster.beside(SECOND, { ...flags, ...places });
      try {
        const own = new Http1({ url: `https://127.0.0.1:${port}`, ca: '' }, 4, { trusting: true });
        await kubectl.ok(['create', '-f', '-'], { stdin: definitionText(GROUPS.first, 'annex') });
        const define = (group: string): Promise<{ readonly status: number }> =>
          own.send({
            method: 'POST',
            path: '/apis/kubeannex.io/v1/resourcedefinitions',
            body: definitionText(group, 'annex'),
            token: ADMIN,
          });
        expect((await define(GROUPS.second)).status).toBe(201);
        expect((await define(GROUPS.first)).status).toBe(201);
        for (const group of Object.values(GROUPS)) {
          await available(cluster, group, 'v1');
          await discovered(cluster, group, 'widgets');
        }
        const before = [
          await servicesOf(GROUPS.first),
          await servicesOf(GROUPS.second),
          await servicesOf('kubeannex.io'),
        ];
        expect(before.map((text) => text.split(' ')[0])).toEqual(['annex', SECOND, 'annex']);
        // The one that comes second reports the conflict.
        const registered = await eventually('the second release reports the conflict', async () => {
          const path = `/apis/kubeannex.io/v1/resourcedefinitions/widgets.${GROUPS.first}`;
          const definition = treeOf(await own.send({ path, token: ADMIN }));
          const text = JSON.stringify(definition['status'] ?? {});
          return text.includes('"Registered"') ? text : undefined;
        });
        expect(registered).toContain('"reason":"Conflict"');
        expect(registered).toContain(`belongs to another release of Annex, the Service ${NAMESPACE}/annex`);
        expect(daemon.log).toContain(`${GROUPS.first}/v1 is not registered`);
        for (const group of Object.values(GROUPS)) {
          const body = widgetText('one', { colour: 'red' }, {}, group);
          expect((await http.send({ method: 'POST', path: widgetsPath('default', '', group), body })).status).toBe(201);
        }
        await pause(WATCHED_MILLIS);
        expect([
          await servicesOf(GROUPS.first),
          await servicesOf(GROUPS.second),
          await servicesOf('kubeannex.io'),
        ]).toEqual(before);
        for (const group of Object.values(GROUPS)) {
          const found = treeOf(await http.get(widgetsPath('default', 'one', group)));
          expect(digText(found, 'apiVersion')).toBe(`${group}/v1`);
        }
      } finally {
        await kubectl.run(['delete', 'apiservice', `v1.${GROUPS.second}`]);
        await daemon.stop('SIGKILL');
        await kubectl.run(['delete', 'apiservice', `v1.${GROUPS.second}`]);
        await kubectl.run(['delete', 'resourcedefinition', `widgets.${GROUPS.first}`, '--wait=false']);
      }
    });

    test('ResourceDefinitions in groups of Kubernetes are refused, and in groups of the cluster not registered', async () => {
      const { kubectl } = cluster;
      const approved = definitionText('rbac.authorization.k8s.io', 'annex', ['v9']).replace(
        '"metadata":{',
        '"metadata":{"annotations":{"api-approved.kubernetes.io":"unapproved, a test"},',
      );
      expect(await kubectl.fails(['create', '-f', '-'], { stdin: approved })).toContain(
        'the group rbac.authorization.k8s.io belongs to Kubernetes; Annex serves types in it only with --allow-cluster-groups=rbac.authorization.k8s.io',
      );
      expect(await kubectl.fails(['create', '-f', '-'], { stdin: definitionText('x.k8s.io', 'annex') })).toContain(
        'protected groups must have approval annotation "api-approved.kubernetes.io"',
      );
      const group = 'held.example.com';
      await kubectl.ok(['create', '-f', '-'], { stdin: definitionText(group, 'cluster', ['v1']) });
      await available(cluster, group, 'v1');
      await kubectl.ok(['create', '-f', '-'], { stdin: definitionText(group, 'annex', ['v9']) });
      const row = await eventually('it is reported', async () => {
        const text = await kubectl.ok(['get', 'rd', `widgets.${group}`, '--no-headers']);
        return text.includes('GroupTaken') ? text : undefined;
      });
      expect(row).toMatch(/GroupTaken +v9/);
      expect((await kubectl.run(['get', 'apiservice', `v9.${group}`])).code).toBe(1);
      await kubectl.ok(['delete', 'crd', `widgets.${group}`]);
      await available(cluster, group, 'v9');
      await kubectl.ok(['delete', 'rd', `widgets.${group}`]);
    });
  });
}
