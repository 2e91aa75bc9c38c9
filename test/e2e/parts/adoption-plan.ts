import type { JsonObject } from '../../../src/apimachinery/json/json.js';
import { digList, digText, treeOf } from '../../integration/client.js';
import { eventually } from '../../integration/server.js';
import { run, type TestCluster } from '../cluster.js';
import { condition, definitionText, widgetsPath, widgetText } from '../widgets.js';

/** A group that is not in the chart's values. */
const GROUP = 'closed.example.com';
const NAMESPACE = 'planned';

/** The command and the Adoption report the plan before a group moves. */
export function adoptionPlan(cluster: TestCluster): void {
  describe('the plan of an adoption', () => {
    const create = (object: object): Promise<string> =>
      cluster.kubectl.ok(['create', '-f', '-'], { stdin: JSON.stringify(object) });

    /** Returns the output, and whether anything blocks the adoption. */
    const plan = async (...args: string[]): Promise<{ readonly text: string; readonly stopped: boolean }> => {
      const main = cluster.replica(0).daemon.args[0] ?? '';
      const command = [main, 'adopt', GROUP, '--dry-run', '--kubeconfig', cluster.adminConfig, ...args];
      try {
        return { text: await run(process.execPath, command), stopped: false };
      } catch (error) {
        const { message } = error as Error;
        return { text: message.slice(message.indexOf('\n') + 1), stopped: true };
      }
    };

    test('reports types, admission, quotas, dependents, changes, and the missing role', async () => {
      const { http, kubectl } = cluster;
      await kubectl.ok(['create', '-f', '-'], { stdin: definitionText(GROUP, 'cluster', ['v1', 'v1beta1']) });
      await kubectl.ok(['wait', `crd/widgets.${GROUP}`, '--for=condition=Established', '--timeout=60s']);
      await kubectl.ok(['create', 'namespace', NAMESPACE]);
      const path = widgetsPath(NAMESPACE, '', GROUP);
      await eventually('widgets are served', async () => ((await http.get(path)).status === 200 ? true : undefined));
      const body = widgetText('one', { colour: 'red' }, { finalizers: ['example.com/hold'] }, GROUP);
      const made = treeOf(await http.send({ method: 'POST', path: `${path}?fieldManager=operator`, body }));
      const [name, uid] = [digText(made, 'metadata', 'name'), digText(made, 'metadata', 'uid')];
      const ownerReferences = [{ apiVersion: `${GROUP}/v1`, kind: 'Widget', name, uid }];
      const inNamespace = { namespace: NAMESPACE };
      await create({
        apiVersion: 'v1',
        kind: 'ConfigMap',
        metadata: { ...inNamespace, name: 'child', ownerReferences },
      });
      await create({
        ...{ apiVersion: 'v1', kind: 'ResourceQuota', metadata: { ...inNamespace, name: 'few' } },
        spec: { hard: { [`count/widgets.${GROUP}`]: '5' } },
      });
      const resourceRules = [
        { apiGroups: [GROUP], apiVersions: ['*'], resources: ['widgets'], operations: ['CREATE'] },
      ];
      for (const [policy, paramKind] of [
        ['planned-plain', undefined],
        ['planned-param', { apiVersion: 'v1', kind: 'Secret' }],
      ] as const) {
        await create({
          ...{ apiVersion: 'admissionregistration.k8s.io/v1', kind: 'ValidatingAdmissionPolicy' },
          metadata: { name: policy },
          spec: {
            ...(paramKind && { paramKind }),
            matchConstraints: { resourceRules },
            validations: [{ expression: 'true' }],
          },
        });
      }
      await create({
        ...{ apiVersion: 'admissionregistration.k8s.io/v1', kind: 'ValidatingAdmissionPolicyBinding' },
        metadata: { name: 'planned-plain' },
        spec: { policyName: 'planned-plain', validationActions: ['Deny'] },
      });
      const { text, stopped } = await plan();
      expect(stopped).toBe(true);
      expect(text).toMatch(/^widgets +Namespaced +v1\*,v1beta1 +None +1 +\d+ B +1 +operator +-$/m);
      for (const line of [
        '  - ValidatingAdmissionPolicy/planned-plain: Annex enforces it',
        "  - ValidatingAdmissionPolicy/planned-param: Annex does NOT enforce it; Annex may not list and watch its params, secrets (the chart's value admission.paramRules)",
        `  - ${NAMESPACE}/few`,
        '  - 1 configmaps',
        '  - during the switch, writes are refused for a few seconds',
        'Permissions that annex-system/annex lacks; apply:',
      ])
        expect(text).toContain(line);
      expect(text).not.toContain('Blocked:');
      const json = JSON.parse((await plan('-o', 'json')).text) as JsonObject;
      expect(digList(json, 'types').map((type) => digText(type, 'resource'))).toEqual(['widgets']);
      expect(digList(json, 'missingRights')).not.toEqual([]);
    });

    test('the Adoption reports the same in conditions and events, and continues once the role is applied', async () => {
      const { kubectl } = cluster;
      await create({ apiVersion: 'kubeannex.io/v1alpha1', kind: 'Adoption', metadata: { name: GROUP }, spec: {} });
      const on = `adoption/${GROUP}`;
      const copied = await condition(cluster, on, 'Copied', ({ reason }) => reason === 'ClusterError');
      expect(copied.message).toMatch(/cannot list resource "widgets" in API group "closed.example.com"/);
      const barred = await condition(cluster, on, 'Switchable', ({ reason }) => reason === 'RightsMissing');
      expect(barred.message).toContain(`Annex may not get, list, watch, create, update, patch, delete *.${GROUP};`);
      const lost = await condition(cluster, on, 'AdmissionEnforced', ({ status }) => status === 'False');
      expect(lost.message).toContain('ValidatingAdmissionPolicy/planned-param');
      expect(lost.message).not.toContain('planned-plain');
      const { text } = await plan();
      const role = text.slice(text.indexOf('apply:\n') + 'apply:\n'.length);
      await kubectl.ok(['apply', '-f', '-'], { stdin: role });
      const switchable = await condition(cluster, on, 'Switchable', ({ status }) => status === 'True');
      expect(switchable.reason).toBe('NothingInTheWay');
      expect((await plan()).stopped).toBe(false);
      await condition(cluster, on, 'InSync', ({ status }) => status === 'True');
      await eventually('events tell it', async () => {
        const events = await kubectl.ok([
          ...['get', 'events', '--field-selector', `involvedObject.kind=Adoption,involvedObject.name=${GROUP}`],
          ...['-o', 'jsonpath={range .items[*]}{.type} {.reason}{"\\n"}{end}'],
        ]);
        const reported = ['Warning RightsMissing', 'Warning NotEnforced', 'Normal InSync'];
        return reported.every((one) => events.includes(one)) ? true : undefined;
      });
    });

    test('deletes the Adoption and the objects of the test', async () => {
      const { http, kubectl } = cluster;
      await kubectl.ok(['delete', 'adoption', GROUP, '--timeout=60s']);
      await http.send({
        ...{ method: 'PATCH', path: widgetsPath(NAMESPACE, 'one', GROUP) },
        ...{ body: '{"metadata":{"finalizers":null}}', headers: { 'content-type': 'application/merge-patch+json' } },
      });
      await kubectl.ok(['delete', 'validatingadmissionpolicybinding', 'planned-plain']);
      await kubectl.ok(['delete', 'validatingadmissionpolicy', 'planned-plain', 'planned-param']);
      await kubectl.ok(['delete', 'crd', `widgets.${GROUP}`, '--timeout=60s']);
      for (const kind of ['clusterrolebinding', 'clusterrole'])
        await kubectl.ok(['delete', kind, `annex-adoption:${GROUP}`]);
      await kubectl.ok(['delete', 'namespace', NAMESPACE, '--timeout=60s']);
    });
  });
}
