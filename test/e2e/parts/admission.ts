import { request } from 'node:https';
import { type JsonObject, objectAt, stringAt } from '../../../src/apimachinery/json/json.js';
import { type Answer, digText, treeOf } from '../../integration/client.js';
import { ADMIN, eventually, NOBODY } from '../../integration/server.js';
import { IS_YARDSTICK, type TestCluster, WEBHOOK_TOKEN } from '../cluster.js';
import { Webhook } from '../webhook.js';
import { available, definitionText, GROUP, widgetsPath, widgetText } from '../widgets.js';

const NAMESPACE = 'admitted';
const API = 'admissionregistration.k8s.io/v1';
const HOOK_SERVICE = { namespace: NAMESPACE, name: 'hook' };
/** The required limit: a changed configuration takes effect within this time. */
const FOLLOWED_MILLIS = 2_000;
const PARAM_RULES = ['admission.paramRules[0].apiGroups[0]=', 'admission.paramRules[0].resources[0]=configmaps'];

const widgets = (operations: string[]): JsonObject => ({
  operations,
  apiGroups: [GROUP],
  apiVersions: ['v1'],
  resources: ['widgets'],
});
const inNamespace = { matchLabels: { 'kubernetes.io/metadata.name': NAMESPACE } };
const constraints = { namespaceSelector: inNamespace, resourceRules: [widgets(['CREATE', 'UPDATE'])] };

function policy(name: string, spec: JsonObject, kind = 'ValidatingAdmissionPolicy'): string {
  return JSON.stringify({
    apiVersion: API,
    kind,
    metadata: { name },
    spec: { matchConstraints: constraints, ...spec },
  });
}

function binding(
  name: string,
  spec: JsonObject = { validationActions: ['Deny'] },
  kind = 'ValidatingAdmissionPolicy',
): string {
  return JSON.stringify({
    apiVersion: API,
    kind: `${kind}Binding`,
    metadata: { name },
    spec: { policyName: name, ...spec },
  });
}

const deny = (expression: string, message: string): JsonObject => ({ validations: [{ expression, message }] });

/** The cluster's webhooks and policies apply to objects that its API server only proxies. */
export function admission(cluster: TestCluster): void {
  const create = (name: string, spec: object = { colour: 'red' }, token = ADMIN): Promise<Answer> =>
    cluster.http.send({
      method: 'POST',
      path: widgetsPath(NAMESPACE),
      body: widgetText(name, spec),
      token,
    });
  const apply = (...texts: string[]): Promise<string> =>
    cluster.kubectl.ok(['apply', '-f', '-'], { stdin: texts.join('\n---\n') });
  const remove = (...objects: string[]): Promise<string> => cluster.kubectl.ok(['delete', ...objects]);
  const said = (answer: Pick<Answer, 'status' | 'text'>): unknown => [answer.status, treeOf(answer)['message']];
  const denied = (by: string, message: string, name: string): unknown => [
    422,
    `widgets.${GROUP} "${name}" is forbidden: ValidatingAdmissionPolicy '${by}' with binding '${by}' denied request: ${message}`,
  ];
  let count = 0;
  /** Creates widgets until an answer is as wanted. Returns the time it took. */
  const until = async (wanted: (answer: Answer, name: string) => boolean, spec?: object): Promise<number> => {
    const begun = performance.now();
    await eventually('the configuration holds', async () => {
      const name = `w${++count}`;
      return wanted(await create(name, spec), name) ? true : undefined;
    });
    return performance.now() - begun;
  };
  const refused = (message: string) => (answer: Answer) =>
    answer.status === 422 && digText(treeOf(answer), 'message').endsWith(message);
  const created = (answer: Answer): boolean => answer.status === 201;
  const seen = async (replica: number, name: string): Promise<string> => {
    const { text } = await cluster.direct(replica).send({ path: '/metrics', token: ADMIN });
    return text
      .split('\n')
      .filter((line) => line.startsWith(name))
      .join('\n');
  };

  describe('admission by the cluster', () => {
    test('a new policy is enforced on every replica', async () => {
      await cluster.kubectl.ok(['create', 'namespace', NAMESPACE]);
      expect(said(await create('before'))).toEqual([201, undefined]);
      await apply(policy('colours', deny("object.spec.colour != 'red'", 'no red ones')), binding('colours'));
      expect(await until(refused('no red ones'))).toBeLessThan(FOLLOWED_MILLIS);
      for (let i = 0; i < 4; i++)
        expect(said(await create(`red-${i}`))).toEqual(denied('colours', 'no red ones', `red-${i}`));
      expect(said(await create('green', { colour: 'green' }))).toEqual([201, undefined]);
      const other = await cluster.http.post(widgetsPath('default'), widgetText('elsewhere', { colour: 'red' }));
      expect(other.status).toBe(201);
    });

    test('a changed policy takes effect within two seconds', async () => {
      await apply(policy('colours', deny("object.spec.colour != 'green'", 'no green ones')));
      expect(await until(refused('no green ones'), { colour: 'green' })).toBeLessThan(FOLLOWED_MILLIS);
      await remove('validatingadmissionpolicybinding/colours');
      expect(await until(created, { colour: 'green' })).toBeLessThan(FOLLOWED_MILLIS);
      await remove('validatingadmissionpolicy/colours');
    });

    test("expressions can read the user, the namespace, and the user's permissions", async () => {
      const may = "authorizer.group('').resource('secrets').namespace('default').check('create').allowed()";
      await cluster.kubectl.ok(['label', 'namespace', NAMESPACE, 'team=blue']);
      await cluster.kubectl.ok([
        'create',
        'clusterrole',
        'makes-widgets',
        '--verb=create',
        `--resource=widgets.${GROUP}`,
      ]);
      await cluster.kubectl.ok([
        'create',
        'clusterrolebinding',
        'makes-widgets',
        '--clusterrole=makes-widgets',
        '--user=jane',
      ]);
      const validations = [
        {
          expression: may,
          messageExpression: "request.userInfo.username + ' of ' + namespaceObject.metadata.labels.team",
        },
      ];
      await apply(policy('users', { validations }), binding('users'));
      await eventually('the policy holds', async () =>
        (await create(`jane-${++count}`, undefined, NOBODY)).status === 422 ? true : undefined,
      );
      expect(said(await create('janes', undefined, NOBODY))).toEqual(denied('users', 'jane of blue', 'janes'));
      expect(said(await create('admins'))).toEqual([201, undefined]);
      await remove('validatingadmissionpolicy/users', 'validatingadmissionpolicybinding/users');
    });

    test('a policy for one version of a type applies to the others, unless matchPolicy is Exact', async () => {
      const group = 'versions.e2e.example.com';
      await cluster.kubectl.ok(['create', '-f', '-'], { stdin: definitionText(group, 'annex', ['v1', 'v2']) });
      await available(cluster, group, 'v1');
      await available(cluster, group, 'v2');
      const resourceRules = [{ ...widgets(['CREATE']), apiGroups: [group], apiVersions: ['v2'] }];
      const ofVersion = (matchPolicy: string): string =>
        policy('versions', {
          matchConstraints: { matchPolicy, resourceRules },
          validations: [{ expression: 'false', messageExpression: 'request.kind.version + object.apiVersion' }],
        });
      const post = (name: string): Promise<Answer> =>
        cluster.http.post(widgetsPath(NAMESPACE, '', group), widgetText(name, { colour: 'red' }, {}, group));
      await apply(ofVersion('Equivalent'), binding('versions'));
      await eventually('the policy holds', async () => ((await post(`v${++count}`)).status === 422 ? true : undefined));
      expect(digText(treeOf(await post('one')), 'message')).toMatch(/denied request: v2versions.e2e.example.com\/v2$/);
      await apply(ofVersion('Exact'));
      await eventually('the policy no longer holds', async () =>
        (await post(`v${++count}`)).status === 201 ? true : undefined,
      );
      await post('kept');
      // As in kube-apiserver, a policy protects objects from deletion, but not from deletion with their definition.
      const keep = { ...widgets(['DELETE']), apiGroups: [group] };
      await apply(policy('versions', { matchConstraints: { resourceRules: [keep] }, ...deny('false', 'it stays') }));
      await eventually('the policy keeps objects', async () => {
        const { code, stderr } = await cluster.kubectl.run(['delete', `widgets.${group}`, 'kept', '-n', NAMESPACE]);
        if (code === 0) await post('kept');
        return stderr.includes('it stays') ? true : undefined;
      });
      await cluster.kubectl.ok(['delete', `resourcedefinition/widgets.${group}`, '--timeout=60s']);
      await remove('validatingadmissionpolicybinding/versions', 'validatingadmissionpolicy/versions');
    });

    test('without permission to read params, the failure policy decides, and it is reported', async () => {
      await cluster.kubectl.ok(['create', 'configmap', 'limit', '-n', NAMESPACE, '--from-literal=most=3']);
      const paramKind = { apiVersion: 'v1', kind: 'ConfigMap' };
      const spec = deny('object.spec.replicas <= int(params.data.most)', 'too many');
      const paramRef = { name: 'limit', parameterNotFoundAction: 'Deny' };
      await apply(
        policy('limits', { paramKind, ...spec }),
        binding('limits', { validationActions: ['Deny'], paramRef }),
      );
      const unreadable =
        'failed to configure binding: paramKind kind `&ParamKind{APIVersion:v1,Kind:ConfigMap,}` not yet synced to use for admission';
      await until((answer) => digText(treeOf(answer), 'message').endsWith(unreadable));
      await eventually('a replica says so', async () => {
        const reported = await seen(0, 'annex_admission_params_unreadable{');
        return reported === 'annex_admission_params_unreadable{kind="/v1, Kind=ConfigMap"} 1' ? true : undefined;
      });
      expect(cluster.replica(0).daemon.log).toMatch(
        /cannot read params of kind \/v1, Kind=ConfigMap: configmaps is forbidden/,
      );
      await apply(policy('limits', { paramKind, ...spec, failurePolicy: 'Ignore' }));
      await until(created);
      await apply(policy('limits', { paramKind, ...spec }));
    });

    test('reads params of the cluster once the chart grants the permission', async () => {
      await cluster.release('upgrade', ...PARAM_RULES);
      await until(refused('too many'), { colour: 'red', replicas: 4 });
      expect((await create('three', { colour: 'red', replicas: 3 })).status).toBe(201);
      await cluster.kubectl.ok(['patch', 'configmap', 'limit', '-n', NAMESPACE, '-p', '{"data":{"most":"5"}}']);
      expect(await until(created, { colour: 'red', replicas: 5 })).toBeLessThan(FOLLOWED_MILLIS);
      await remove('validatingadmissionpolicy/limits', 'validatingadmissionpolicybinding/limits');
    });

    // Kubernetes serves mutating policies in v1 since 1.36.
    (IS_YARDSTICK ? test : test.skip)('a mutating policy changes what is stored', async () => {
      const kind = 'MutatingAdmissionPolicy';
      const expression = "Object{metadata: Object.metadata{labels: {'by': request.userInfo.username}}}";
      const mutations = [{ patchType: 'ApplyConfiguration', applyConfiguration: { expression } }];
      await apply(policy('labels', { mutations, reinvocationPolicy: 'Never' }, kind), binding('labels', {}, kind));
      await until((answer) => digText(treeOf(answer), 'metadata', 'labels', 'by') === 'admin');
      await remove('mutatingadmissionpolicy/labels', 'mutatingadmissionpolicybinding/labels');
      await until((answer) => objectAt(objectAt(treeOf(answer), 'metadata'), 'labels') === undefined);
    });

    describe('webhooks', () => {
      const webhook = new Webhook((review) => {
        const object = objectAt(review, 'object');
        if (object === undefined) return undefined;
        if (stringAt(objectAt(object, 'spec'), 'size') === 'huge') return { deny: 'too large' };
        return { patch: [{ op: 'add', path: '/spec/size', value: 'patched' }] };
      }, HOOK_SERVICE);
      const configuration = (kind: string, clientConfig = webhook.clientConfig): string =>
        JSON.stringify({
          apiVersion: API,
          kind,
          metadata: { name: 'e2e' },
          webhooks: [
            {
              name: 'e2e.example.com',
              clientConfig,
              rules: [widgets(['*'])],
              namespaceSelector: inNamespace,
              sideEffects: 'None',
              admissionReviewVersions: ['v1'],
              timeoutSeconds: 5,
            },
          ],
        });
      beforeAll(() => webhook.start(cluster.hookPort));
      afterAll(() => {
        webhook.stop();
      });

      test('refuse and mutate, and are called once per request', async () => {
        await apply(configuration('MutatingWebhookConfiguration'));
        const patched = (answer: Answer): boolean => digText(treeOf(answer), 'spec', 'size') === 'patched';
        expect(await until(patched)).toBeLessThan(FOLLOWED_MILLIS);
        webhook.calls.length = 0;
        expect(said(await create('large', { colour: 'red', size: 'huge' }))).toEqual([
          400,
          'admission webhook "e2e.example.com" denied the request: too large',
        ]);
        await create('once');
        await cluster.kubectl.ok(['get', `widgets.${GROUP}`, 'once', '-n', NAMESPACE]);
        await cluster.kubectl.ok(['delete', `widgets.${GROUP}`, 'three', '-n', NAMESPACE]);
        expect(webhook.calls).toEqual([
          'CREATE widgets large by admin',
          'CREATE widgets once by admin',
          'DELETE widgets three by admin',
        ]);
        // No kubeconfig has credentials for the address.
        expect(new Set(webhook.credentials)).toEqual(new Set([undefined]));
        await remove('mutatingwebhookconfiguration/e2e');
        expect(await until((answer) => created(answer) && !patched(answer))).toBeLessThan(FOLLOWED_MILLIS);
      });

      test('that are Services are called by name, with credentials from --admission-control-config-file', async () => {
        webhook.credentials.length = 0;
        await apply(configuration('ValidatingWebhookConfiguration', webhook.serviceConfig));
        const tooLarge = 'admission webhook "e2e.example.com" denied the request: too large';
        await until((answer) => answer.status === 400 && digText(treeOf(answer), 'message') === tooLarge, {
          colour: 'red',
          size: 'huge',
        });
        expect(new Set(webhook.credentials)).toEqual(new Set([`Bearer ${WEBHOOK_TOKEN}`]));
        await remove('validatingwebhookconfiguration/e2e');
        expect(await until(created, { colour: 'red', size: 'huge' })).toBeLessThan(FOLLOWED_MILLIS);
        webhook.credentials.length = 0;
        await apply(configuration('MutatingWebhookConfiguration', webhook.serviceConfig));
        await until((answer) => digText(treeOf(answer), 'spec', 'size') === 'patched');
        expect(new Set(webhook.credentials)).toEqual(new Set([`Bearer ${WEBHOOK_TOKEN}`]));
        await remove('mutatingwebhookconfiguration/e2e');
        await until((answer) => digText(treeOf(answer), 'spec', 'size') !== 'patched');
      });
    });

    test('without the cluster, the last configuration applies, and a metric reports its age', async () => {
      await apply(policy('colours', deny("object.spec.colour != 'red'", 'no red ones')), binding('colours'));
      await until(refused('no red ones'));
      expect(await seen(0, 'annex_admission_configuration_age_seconds{')).toMatch(
        /^(annex_admission_configuration_age_seconds\{resource="\w+"\} 0\n?){6}$/,
      );
      await cluster.apiserver.stop('SIGKILL');
      try {
        await eventually('the configuration grows old', async () => {
          const ages = await proxied(cluster, '/metrics');
          return /age_seconds\{resource="validatingadmissionpolicies"\} [1-9]/.test(ages.text) ? true : undefined;
        });
        const answer = await proxied(cluster, widgetsPath(NAMESPACE), widgetText('away', { colour: 'red' }));
        expect(said(answer)).toEqual(denied('colours', 'no red ones', 'away'));
        const green = await proxied(cluster, widgetsPath(NAMESPACE), widgetText('away', { colour: 'green' }));
        expect(green.status).toBe(201);
        expect((await proxied(cluster, '/readyz')).status).toBe(200);
      } finally {
        cluster.apiserver.start();
        await cluster.apiserverReady();
      }
      await remove('validatingadmissionpolicybinding/colours', 'validatingadmissionpolicy/colours');
      // The watches reconnect by themselves.
      await until(created);
    });
  });
}

/** Sends a request as the front proxy, for a user whom Annex allows without asking an authorizer. */
function proxied(cluster: TestCluster, path: string, body?: string): Promise<Pick<Answer, 'status' | 'text'>> {
  return new Promise((resolve, reject) => {
    const call = request(
      {
        port: cluster.replica(0).port,
        host: '127.0.0.1',
        path,
        method: body === undefined ? 'GET' : 'POST',
        headers: {
          'X-Remote-User': 'admin',
          'X-Remote-Group': 'system:masters',
          ...(body !== undefined && { 'Content-Type': 'application/json' }),
        },
        rejectUnauthorized: false,
        agent: false,
        ...cluster.certificates.proxy('front-proxy-client'),
      },
      (response) => {
        let text = '';
        response.setEncoding('utf8').on('data', (chunk: string) => (text += chunk));
        response.on('end', () => {
          resolve({ status: response.statusCode ?? 0, text });
        });
      },
    );
    call.on('error', reject);
    call.end(body);
  });
}
