import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { JsonObject } from '../../../src/apimachinery/json/json.js';
import { dig, digText, Http1 } from '../client.js';
import { TestCa } from '../openid/certificates.js';
import { eventually, NOBODY, scratchFolder, TestServer } from '../server.js';
import { ReviewWebhook } from './review-webhook.js';

const CONFIGMAPS = '/api/v1/namespaces/default/configmaps';
const PREFIX = 'apiserver.latency.k8s.io/';
const SLOW_MILLIS = 500;
/** Go's format of durations below a minute. */
const DURATION = /^\d+(?:\.\d{1,9})?(?:ns|µs|ms|s)$/;
const policy = { apiVersion: 'audit.k8s.io/v1', kind: 'Policy', rules: [{ level: 'Metadata' }] };

describe('latency annotations of slow requests', () => {
  let service: ReviewWebhook | undefined;
  let server: TestServer | undefined;
  const folder = scratchFolder(async () => {
    service?.stop();
    await server?.stop('SIGKILL');
  });
  const log = join(folder, 'audit.log');

  const setUp = async (): Promise<Http1> => {
    service = await ReviewWebhook.start(new TestCa());
    writeFileSync(join(folder, 'policy.json'), JSON.stringify(policy));
    server = await TestServer.start(folder, [
      '--authorization-mode=RBAC,Webhook',
      '--authorization-webhook-version=v1',
      '--authorization-webhook-cache-authorized-ttl=0s',
      '--authorization-webhook-cache-unauthorized-ttl=0s',
      `--authorization-webhook-config-file=${service.kubeconfig(join(folder, 'webhook.json'), '/')}`,
      `--audit-policy-file=${join(folder, 'policy.json')}`,
      `--audit-log-path=${log}`,
    ]);
    return new Http1(server);
  };

  /** Returns the layers and their durations from the last event of a request, and the total duration. */
  const timesOf = (auditId: string): Promise<{ layers: Record<string, string>; millis: number }> =>
    eventually('the event of the answer', () => {
      // The last line may be incomplete.
      const events = readFileSync(log, 'utf8')
        .split('\n')
        .slice(0, -1)
        .filter((line) => line.includes(auditId) && line.includes('"ResponseComplete"'));
      const [event] = events.map((line) => JSON.parse(line) as JsonObject);
      if (event === undefined) return Promise.resolve(undefined);
      const annotations = Object.entries((dig(event, 'annotations') ?? {}) as Record<string, string>);
      const layers = annotations.filter(([key]) => key.startsWith(PREFIX));
      const at = (stamp: string): number => Date.parse(digText(event, stamp));
      return Promise.resolve({
        layers: Object.fromEntries(layers.map(([key, value]) => [key.slice(PREFIX.length), value])),
        millis: at('stageTimestamp') - at('requestReceivedTimestamp'),
      });
    });

  test('slow requests list their layers, and fast ones do not', async () => {
    const http = await setUp();
    const ask = async (call: Parameters<Http1['send']>[0]): Promise<{ status: number; layers: object }> => {
      const { status, headers } = await http.send(call);
      return { status, layers: (await timesOf(String(headers['audit-id']))).layers };
    };
    /** On a busy machine the first attempt may be slow too. */
    const askFast = (call: Parameters<Http1['send']>[0]): Promise<{ status: number; layers: object }> =>
      eventually('a fast one', async () => {
        const { status, headers } = await http.send(call);
        const { layers, millis } = await timesOf(String(headers['audit-id']));
        return millis < SLOW_MILLIS - 50 ? { status, layers } : undefined;
      });
    const body = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'slow' } };
    expect((await http.post(CONFIGMAPS, body)).status).toBe(201);
    const named = { ...body, metadata: { generateName: 'fast-' } };
    expect(await askFast({ method: 'POST', path: CONFIGMAPS, body: named })).toEqual({ status: 201, layers: {} });
    const matching = (pattern: RegExp): unknown => expect.stringMatching(pattern);
    const reported = (...names: string[]): object =>
      Object.fromEntries(names.map((name) => [name, matching(DURATION)]));
    const whole = ['authentication', 'authorization', 'serialize-response-object', 'response-write', 'total'];
    const long = { authorization: matching(/^(?:[6-9]\d\d(?:\.\d+)?ms|\d+(?:\.\d+)?s)$/) };
    const one = `${CONFIGMAPS}/slow`;
    expect(await ask({ path: one, token: NOBODY })).toEqual({
      status: 200,
      layers: { ...reported(...whole, 'etcd'), ...long },
    });
    expect(await ask({ path: one, headers: { 'Impersonate-User': 'jane' } })).toEqual({
      status: 200,
      layers: { ...reported(...whole, 'etcd', 'impersonation'), ...long },
    });
    const accept = 'application/json;as=Table;v=v1;g=meta.k8s.io';
    expect(await ask({ path: one, token: NOBODY, headers: { accept } })).toEqual({
      status: 200,
      layers: { ...reported(...whole, 'etcd', 'transform-response-object'), ...long },
    });
    const changed = { ...body, data: { a: 'b' } };
    expect(await ask({ method: 'PUT', path: one, token: NOBODY, body: changed })).toEqual({
      status: 200,
      layers: { ...reported(...whole, 'etcd'), ...long },
    });
    expect(await askFast({ method: 'DELETE', path: `${CONFIGMAPS}/none/status`, token: NOBODY })).toEqual({
      status: 403,
      layers: {},
    });
  });
});
