import type { JsonObject } from '../../src/apimachinery/json/json.js';
import { type Answer, digText, Http1, treeOf } from './client.js';
import { eventually, PATIENCE_MILLIS, scratchFolder, TestServer } from './server.js';

/**
 * Webhooks that point to the server itself: the call is a write, and so it triggers the webhook again. Whether the path accepts or rejects
 * the review, a write fails after the timeout at the latest, and the server can still start.
 */
const REVIEWS = '/apis/admission.k8s.io/v1/admissionreviews';
const HOOKS = '/apis/admissionregistration.k8s.io/v1';
const CONFIGMAPS = '/api/v1/namespaces/default/configmaps';
const TIMEOUT_SECONDS = 1;

const folder = scratchFolder(async () => server?.stop('SIGKILL'));
let server: TestServer | undefined;
let client: Http1;

const configMap = (name: string): JsonObject => ({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name } });

/** Reviews are custom resources, so that the server accepts them. */
const DEFINITION: JsonObject = {
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  metadata: {
    name: 'admissionreviews.admission.k8s.io',
    annotations: { 'api-approved.kubernetes.io': 'unapproved, a test' },
  },
  spec: {
    group: 'admission.k8s.io',
    scope: 'Cluster',
    names: { plural: 'admissionreviews', kind: 'AdmissionReview' },
    versions: [
      {
        name: 'v1',
        served: true,
        storage: true,
        schema: { openAPIV3Schema: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true } },
      },
    ],
  },
};

/** Webhook calls have no credentials, so anonymous users may create reviews. */
const ANYBODY: JsonObject = {
  apiVersion: 'rbac.authorization.k8s.io/v1',
  kind: 'ClusterRoleBinding',
  metadata: { name: 'anybody' },
  roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'cluster-admin' },
  subjects: [{ apiGroup: 'rbac.authorization.k8s.io', kind: 'Group', name: 'system:unauthenticated' }],
};

function configuration(kind: string, to: TestServer, path: string): JsonObject {
  return {
    apiVersion: 'admissionregistration.k8s.io/v1',
    kind,
    metadata: { name: 'itself' },
    webhooks: [
      {
        name: 'itself.example.com',
        clientConfig: { url: `${to.url}${path}`, caBundle: Buffer.from(to.ca).toString('base64') },
        rules: [{ operations: ['*'], apiGroups: ['*'], apiVersions: ['*'], resources: ['*/*'] }],
        sideEffects: 'None',
        admissionReviewVersions: ['v1'],
        timeoutSeconds: TIMEOUT_SECONDS,
        failurePolicy: 'Fail',
      },
    ],
  };
}

async function start(...flags: string[]): Promise<TestServer> {
  server = await TestServer.start(folder, ['--anonymous-auth=true', ...flags]);
  client = new Http1(server, 64);
  return server;
}

const post = (path: string, body: JsonObject): Promise<Answer> =>
  client.send({ method: 'POST', path, body: JSON.stringify(body) });

async function made(path: string, body: JsonObject): Promise<void> {
  expect((await post(path, body)).status).toBe(201);
}

/** Sends many writes at once, and reads meanwhile. All are answered, and the writes are rejected. */
async function refusesAll(): Promise<void> {
  const over = new AbortController();
  const reading = (async (): Promise<void> => {
    while (!over.signal.aborted) expect((await client.get('/api/v1/namespaces/default')).status).toBe(200);
  })();
  const answers = await Promise.all(Array.from({ length: 10 }, (_, i) => post(CONFIGMAPS, configMap(`at-once-${i}`))));
  over.abort();
  await reading;
  for (const answer of answers) {
    // The requests in flight are limited too.
    if (answer.status === 429) continue;
    expect(answer.status).toBe(500);
    expect(digText(treeOf(answer), 'message')).toContain('failed calling webhook "itself.example.com"');
  }
}

describe.each([
  ['which accepts the review', REVIEWS],
  ['which rejects the review', CONFIGMAPS],
])('a webhook that points to the server itself, %s', (_, path) => {
  test(
    'fails writes within its timeout, does not prevent a start, and can be deleted',
    async () => {
      const first = await start();
      const again = await client.get('/api/v1/namespaces/default/configmaps/before');
      if (again.status === 404) {
        await made('/apis/apiextensions.k8s.io/v1/customresourcedefinitions', DEFINITION);
        await made('/apis/rbac.authorization.k8s.io/v1/clusterrolebindings', ANYBODY);
        await made(CONFIGMAPS, configMap('before'));
        await eventually('questions are a type', async () =>
          (await client.get(REVIEWS)).status === 200 ? true : undefined,
        );
      }
      const kinds = ['MutatingWebhookConfiguration', 'ValidatingWebhookConfiguration'];
      for (const kind of kinds) await made(`${HOOKS}/${kind.toLowerCase()}s`, configuration(kind, first, path));
      await eventually('the webhooks hold', async () =>
        (await post(`${CONFIGMAPS}?dryRun=All`, configMap('probe'))).status === 500 ? true : undefined,
      );
      await refusesAll();

      await first.stop('SIGKILL');
      await start(`--secure-port=${first.port}`);
      expect((await client.get('/readyz')).status).toBe(200);
      await refusesAll();
      // Webhooks are not called for webhook configurations.
      for (const kind of kinds)
        await eventually(`the ${kind} goes`, async () => {
          const { status } = await client.send({ method: 'DELETE', path: `${HOOKS}/${kind.toLowerCase()}s/itself` });
          return status === 200 ? true : undefined;
        });
      await eventually('writes succeed', async () =>
        (await post(`${CONFIGMAPS}?dryRun=All`, configMap('after'))).status === 201 ? true : undefined,
      );
      await server?.stop();
    },
    3 * PATIENCE_MILLIS,
  );
});
