import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import type { JsonObject } from '../../src/apimachinery/json/json.js';
import { digList, digText, Http1, Http2, treeOf } from './client.js';
import { Webhook } from '../e2e/webhook.js';
import { define, DEFINITIONS, definition } from './objects.js';
import { eventually, PATIENCE_MILLIS, scratchFolder, TestServer } from './server.js';

/** What those of Kubernetes' own admission tests check that cannot run as they are (test/conformance/kubernetes). */
const REGISTRATION = '/apis/admissionregistration.k8s.io/v1';
const CONFIGMAPS = '/api/v1/namespaces/default/configmaps';
const PARALLEL = 10;

let server: TestServer | undefined;
let hook: Webhook | undefined;
const folder = scratchFolder(async () => {
  hook?.stop();
  await server?.stop('SIGKILL');
});

/** Starts a server on the data of this name. */
const start = async (data: string): Promise<TestServer> => {
  mkdirSync(join(folder, data), { recursive: true });
  return (server = await TestServer.start(join(folder, data)));
};

async function register(http: Http1, kind: string, webhook: Webhook): Promise<void> {
  const made = await http.post(`${REGISTRATION}/${kind.toLowerCase()}s`, {
    apiVersion: 'admissionregistration.k8s.io/v1',
    kind,
    metadata: { name: 'hook' },
    webhooks: [
      {
        name: 'hook.example.com',
        clientConfig: webhook.clientConfig,
        rules: [{ operations: ['CREATE', 'UPDATE'], apiGroups: [''], apiVersions: ['v1'], resources: ['configmaps'] }],
        objectSelector: { matchLabels: { hooked: 'yes' } },
        sideEffects: 'None',
        admissionReviewVersions: ['v1'],
        timeoutSeconds: 30,
      },
    ],
  });
  expect(made.status).toBe(201);
}

const hooked = (name: string, metadata: JsonObject = {}): JsonObject => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name, labels: { hooked: 'yes' }, ...metadata },
});

afterEach(async () => {
  hook?.stop();
  await server?.stop();
});

test('owner references that a mutating webhook repeats are stored once, with a warning', async () => {
  const http = new Http1(await start('owners'));
  const node = await http.post('/api/v1/nodes', { apiVersion: 'v1', kind: 'Node', metadata: { name: 'n' } });
  const owner = { apiVersion: 'v1', kind: 'Node', name: 'n', uid: digText(treeOf(node), 'metadata', 'uid') };
  hook = new Webhook(() => ({ patch: [{ op: 'add', path: '/metadata/ownerReferences/-', value: owner }] }), {
    namespace: 'default',
    name: 'hook',
  });
  await hook.start(0);
  await register(http, 'MutatingWebhookConfiguration', hook);
  const warning = `299 - ".metadata.ownerReferences contains duplicate entries after mutating admission happens; API server dedups owner references in 1.20+, and may reject such requests as early as 1.24; please fix your requests; duplicate UID(s) observed: ${owner.uid}"`;
  const created = await http.post(CONFIGMAPS, hooked('a', { ownerReferences: [owner] }));
  const path = `${CONFIGMAPS}/a`;
  const patched = await http.send({
    method: 'PATCH',
    path,
    body: '[]',
    headers: { 'content-type': 'application/json-patch+json' },
  });
  const updated = await http.send({ method: 'PUT', path, body: treeOf(patched) });
  for (const [answer, code] of [
    [created, 201],
    [patched, 200],
    [updated, 200],
  ] as const) {
    const { status, headers, text } = answer;
    expect([status, headers['warning']]).toEqual([code, warning]);
    expect(digList(treeOf({ text }), 'metadata', 'ownerReferences')).toHaveLength(1);
  }
  expect(hook.calls).toHaveLength(3);
  expect((await http.send({ method: 'DELETE', path })).headers['warning']).toBeUndefined();
});

test(
  `${PARALLEL} requests at a time call a webhook over as many connections, which later ones reuse`,
  async () => {
    const current = await start('connections');
    let waiting: (() => void)[] = [];
    const webhook = new Webhook(
      () => undefined,
      { namespace: 'default', name: 'hook' },
      // None is answered before all have come.
      () =>
        new Promise((resolve) => {
          waiting.push(resolve);
          if (waiting.length < PARALLEL) return;
          for (const answer of waiting) answer();
          waiting = [];
        }),
    );
    hook = webhook;
    await webhook.start(0);
    await register(new Http1(current), 'ValidatingWebhookConfiguration', webhook);
    const client = new Http2(current);
    const round = async (name: string): Promise<void> => {
      const writes = Array.from({ length: PARALLEL }, (_, i) =>
        client.send({ method: 'POST', path: CONFIGMAPS, body: hooked(`${name}-${i}`) }),
      );
      for (const { status } of await Promise.all(writes)) expect(status).toBe(201);
    };
    await round('first');
    expect(webhook.connections).toBe(PARALLEL);
    await round('second');
    expect(webhook.connections).toBe(PARALLEL);
  },
  2 * PATIENCE_MILLIS,
);

test(
  'a policy whose parameters are custom resources decides at once after a restart with many definitions',
  async () => {
    const http = new Http1(await start('policy'));
    for (let i = 0; i < 100; i++) {
      const made = await http.post(DEFINITIONS, definition('cr.example.com', `many${i}`, `Many${i}`));
      expect(made.status).toBe(201);
    }
    await define(http, 'cr.example.com', 'prefixes', 'Prefix');
    const group = '/apis/cr.example.com/v1';
    const param = { apiVersion: 'cr.example.com/v1', kind: 'Prefix', metadata: { name: 'test', namespace: 'default' } };
    expect((await http.post(`${group}/namespaces/default/prefixes`, param)).status).toBe(201);
    const meta = { apiVersion: 'admissionregistration.k8s.io/v1', metadata: { name: 'prefixes' } };
    await http.post(`${REGISTRATION}/validatingadmissionpolicies`, {
      ...meta,
      kind: 'ValidatingAdmissionPolicy',
      spec: {
        paramKind: { apiVersion: 'cr.example.com/v1', kind: 'Prefix' },
        matchConstraints: {
          resourceRules: [{ apiGroups: [''], apiVersions: ['v1'], operations: ['CREATE'], resources: ['namespaces'] }],
        },
        validations: [{ expression: 'object.metadata.name.startsWith(params.metadata.name)', message: 'wrong prefix' }],
      },
    });
    await http.post(`${REGISTRATION}/validatingadmissionpolicybindings`, {
      ...meta,
      kind: 'ValidatingAdmissionPolicyBinding',
      spec: {
        policyName: 'prefixes',
        paramRef: { name: 'test', namespace: 'default', parameterNotFoundAction: 'Deny' },
        validationActions: ['Deny'],
      },
    });
    const create = async (client: Http1, name: string): Promise<string> => {
      const { status, text } = await client.post('/api/v1/namespaces?dryRun=All', { metadata: { name } });
      return status === 201 ? '' : digText(treeOf({ text }), 'message');
    };
    await eventually('the policy decides', async () => (await create(http, 'other')) || undefined);
    await server?.stop();
    const again = new Http1(await start('policy'));
    expect(await create(again, 'other')).toContain('wrong prefix');
    expect(await create(again, 'test-one')).toBe('');
  },
  2 * PATIENCE_MILLIS,
);
