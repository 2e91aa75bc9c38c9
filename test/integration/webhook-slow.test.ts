import type { JsonObject } from '../../src/apimachinery/json/json.js';
import { Webhook } from '../e2e/webhook.js';
import { type Answer, Http2 } from './client.js';
import { eventually, PATIENCE_MILLIS, scratchFolder, TestServer } from './server.js';

const CALLS = 200;
const READS = 100;
const CONFIGMAPS = '/api/v1/namespaces/default/configmaps';
const CONFIGURATIONS = '/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations';

let release = (): void => undefined;
const released = new Promise<void>((resolve) => {
  release = resolve;
});
const webhook = new Webhook(
  () => undefined,
  { namespace: 'default', name: 'hook' },
  () => released,
);

let server: TestServer | undefined;
const folder = scratchFolder(async () => {
  release();
  webhook.stop();
  await server?.stop('SIGKILL');
});

test(
  `${CALLS} webhooks that do not answer delay no read, and all writes go on when they do`,
  async () => {
    server = await TestServer.start(folder, ['--max-mutating-requests-inflight', String(2 * CALLS)]);
    const client = new Http2(server);
    await webhook.start(0);
    const rules = [{ operations: ['CREATE'], apiGroups: [''], apiVersions: ['v1'], resources: ['configmaps'] }];
    const configuration: JsonObject = {
      apiVersion: 'admissionregistration.k8s.io/v1',
      kind: 'ValidatingWebhookConfiguration',
      metadata: { name: 'slow' },
      webhooks: [
        {
          name: 'slow.example.com',
          clientConfig: webhook.clientConfig,
          rules,
          // ConfigMaps that the server creates itself are not sent to the webhook.
          objectSelector: { matchLabels: { slow: 'yes' } },
          sideEffects: 'None',
          admissionReviewVersions: ['v1'],
          timeoutSeconds: 30,
        },
      ],
    };
    const post = (path: string, body: JsonObject): Promise<Answer> =>
      client.send({ method: 'POST', path, body: JSON.stringify(body) });
    expect((await post(CONFIGURATIONS, configuration)).status).toBe(201);
    let answered = 0;
    const writes = Array.from({ length: CALLS }, async (_, i) => {
      const metadata = { name: `slow-${i}`, labels: { slow: 'yes' } };
      const { status } = await post(CONFIGMAPS, { apiVersion: 'v1', kind: 'ConfigMap', metadata });
      answered++;
      return status;
    });
    await eventually('the webhook is asked by all at once', () =>
      Promise.resolve(webhook.asked === CALLS ? true : undefined),
    );
    for (let i = 0; i < READS; i++)
      expect((await client.send({ path: '/api/v1/namespaces/default' })).status).toBe(200);
    expect(answered).toBe(0);
    release();
    expect(await Promise.all(writes)).toEqual(Array.from({ length: CALLS }, () => 201));
  },
  2 * PATIENCE_MILLIS,
);
