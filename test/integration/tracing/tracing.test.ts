import { writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:https';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import type { JsonObject } from '../../../src/apimachinery/json/json.js';
import { leaksOf, plant } from '../../secrecy/leaks.js';
import { findMongod, ReplicaSet } from '../../storage/mongod.js';
import { type Answer, dig, digList, digText, Http1 } from '../client.js';
import { configMap } from '../objects.js';
import { TestCa } from '../openid/certificates.js';
import { eventually, NOBODY, run, scratchFolder, TestServer } from '../server.js';
import { OtlpReceiver, type ReceivedSpan } from './otlp-receiver.js';

const TRACE = '0af7651916cd43dd8448eb211c80319c';
const CALLER = 'b7ad6b7169203331';
const TRACEPARENT = { traceparent: `00-${TRACE}-${CALLER}-01` };
const MAPS = '/api/v1/namespaces/default/configmaps';

/** Answers AdmissionReviews and ConversionReviews, and records the traceparent header of each. */
class Webhook {
  readonly traceparents: string[] = [];
  private constructor(
    private readonly server: Server,
    private readonly ca: TestCa,
  ) {}

  static async start(): Promise<Webhook> {
    const ca = new TestCa('webhooks');
    const { key, certificate } = ca.serving();
    const server = createServer({ key, cert: certificate });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const webhook = new Webhook(server, ca);
    server.on('request', (request, response) => {
      webhook.traceparents.push(String(request.headers['traceparent']));
      let text = '';
      request.setEncoding('utf8').on('data', (chunk: string) => (text += chunk));
      request.on('end', () => {
        const review = JSON.parse(text) as JsonObject;
        const uid = digText(review, 'request', 'uid');
        const version = digText(review, 'request', 'desiredAPIVersion');
        const objects = digList(review, 'request', 'objects') as JsonObject[];
        const convertedObjects = objects.map((object) => ({ ...object, apiVersion: version }));
        const answer =
          version === '' ? { uid, allowed: true } : { uid, result: { status: 'Success' }, convertedObjects };
        const { apiVersion, kind } = review;
        response
          .setHeader('content-type', 'application/json')
          .end(JSON.stringify({ apiVersion, kind, response: answer }));
      });
    });
    return webhook;
  }

  get clientConfig(): JsonObject {
    const url = `https://127.0.0.1:${(this.server.address() as AddressInfo).port}/`;
    return { url, caBundle: Buffer.from(this.ca.pem).toString('base64') };
  }

  stop(): void {
    this.server.closeAllConnections();
    this.server.close();
  }
}

let receiver: OtlpReceiver;
let webhook: Webhook;
const servers: TestServer[] = [];
const sets: ReplicaSet[] = [];
const folder = scratchFolder(async () => {
  await Promise.all(servers.map((server) => server.stop('SIGKILL')));
  await Promise.all(sets.map((set) => set.dispose()));
  webhook.stop();
  receiver.stop();
});

beforeAll(async () => {
  receiver = await OtlpReceiver.start();
  webhook = await Webhook.start();
});

function configuration(name: string, more: object): string {
  const file = join(folder, `${name}.yaml`);
  const apiVersion = 'apiserver.config.k8s.io/v1';
  writeFileSync(file, JSON.stringify({ apiVersion, kind: 'TracingConfiguration', ...more }));
  return file;
}

async function start(flags: readonly string[] = [], more: object = {}): Promise<TestServer> {
  const own = join(folder, `server-${servers.length}`);
  const file = configuration(`tracing-${servers.length}`, { endpoint: receiver.endpoint, ...more });
  const flags_ = ['--data-dir', own, '--tracing-config-file', file, '--controllers=', ...flags];
  const server = await TestServer.start(folder, flags_);
  servers.push(server);
  return Object.assign(server, { dataDir: own });
}

/** Stops the server, which exports its remaining spans, and returns all spans. */
async function traced(server: TestServer): Promise<ReceivedSpan[]> {
  await server.stop();
  return receiver.spans.splice(0);
}

const found = (spans: readonly ReceivedSpan[], name: string): ReceivedSpan => {
  const span = spans.find((one) => one.name === name);
  if (span === undefined) throw new Error(`no span ${name} among ${spans.map((one) => one.name).join(', ')}`);
  return span;
};

const widgets = (conversion: JsonObject): JsonObject => {
  const schema = { openAPIV3Schema: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true } };
  const version = (name: string, storage: boolean): JsonObject => ({ name, served: true, storage, schema });
  return {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: 'widgets.example.com' },
    spec: {
      group: 'example.com',
      scope: 'Cluster',
      names: { plural: 'widgets', singular: 'widget', kind: 'Widget', listKind: 'WidgetList' },
      versions: [version('v1', true), version('v2', false)],
      conversion: {
        strategy: 'Webhook',
        webhook: { clientConfig: conversion, conversionReviewVersions: ['v1'] },
      },
    },
  };
};

const hooks = (clientConfig: JsonObject): JsonObject => ({
  apiVersion: 'admissionregistration.k8s.io/v1',
  kind: 'ValidatingWebhookConfiguration',
  metadata: { name: 'watched' },
  webhooks: [
    {
      name: 'watched.example.com',
      clientConfig,
      sideEffects: 'None',
      admissionReviewVersions: ['v1'],
      rules: [{ apiGroups: [''], apiVersions: ['v1'], operations: ['CREATE'], resources: ['configmaps'] }],
    },
  ],
});

test('a privileged caller turns on tracing: filters, webhooks, conversions, and the store are spans', async () => {
  const server = await start();
  const http = new Http1(server);
  const admissions = '/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations';
  expect((await http.post(admissions, hooks(webhook.clientConfig))).status).toBe(201);
  expect(
    (await http.post('/apis/apiextensions.k8s.io/v1/customresourcedefinitions', widgets(webhook.clientConfig))).status,
  ).toBe(201);
  const widget = { apiVersion: 'example.com/v1', kind: 'Widget', metadata: { name: 'w' } };
  await eventually('widgets are served', async () =>
    (await http.post('/apis/example.com/v1/widgets', widget)).status === 201 ? true : undefined,
  );
  const value = plant('secret-of-a-traced-request-51');
  const body = { ...configMap('traced'), data: { value } };
  await eventually('the webhook is asked', async () => {
    const asked = { method: 'POST', path: `${MAPS}?token=${value}&dryRun=All`, body };
    await http.send(asked);
    return webhook.traceparents.length > 0 ? true : undefined;
  });
  expect(webhook.traceparents.splice(0).every((sent) => sent.endsWith('-00'))).toBe(true);
  const created = await http.send({ method: 'POST', path: `${MAPS}?token=${value}`, body, headers: TRACEPARENT });
  expect(created.status).toBe(201);
  expect((await http.send({ path: '/apis/example.com/v2/widgets', headers: TRACEPARENT })).status).toBe(200);
  const spans = await traced(server);
  // No other request was sampled.
  expect(new Set(spans.map(({ traceId }) => traceId))).toEqual(new Set([TRACE]));
  const request = found(spans, 'POST /api/v1/namespaces/{:namespace}/configmaps');
  expect(request).toMatchObject({
    parentId: CALLER,
    attributes: {
      'http.method': 'POST',
      'http.target': MAPS,
      'http.status_code': 201,
      'audit-id': created.headers['audit-id'],
    },
    resource: { 'service.name': 'apiserver' },
  });
  const create = found(spans, 'Create');
  expect(create.parentId).toBe(request.spanId);
  for (const name of ['authentication', 'authorization'])
    expect(spans.filter((span) => span.name === name).map(({ parentId }) => parentId)).toContain(request.spanId);
  const asked = found(spans, 'Call validating webhook');
  expect(asked).toMatchObject({
    parentId: create.spanId,
    attributes: { webhook: 'watched.example.com', operation: 'CREATE' },
  });
  expect(webhook.traceparents[0]).toBe(`00-${TRACE}-${asked.spanId}-01`);
  const commit = found(spans, 'Create etcd3');
  expect(commit).toMatchObject({ parentId: create.spanId, attributes: { resource: 'configmaps' } });
  expect(commit.ended).toBeGreaterThanOrEqual(commit.began);
  const list = found(spans, 'List');
  expect(spans.filter(({ name }) => name === 'cacher.GetList').map(({ parentId }) => parentId)).toContain(list.spanId);
  const converted = found(spans, 'Call conversion webhook');
  expect(webhook.traceparents).toContain(`00-${TRACE}-${converted.spanId}-01`);
  expect(leaksOf(receiver.text, [value])).toEqual([]);
});

test('unprivileged callers are traced at the configured rate, with a link to the trace context they sent', async () => {
  const server = await start(['--authorization-mode=AlwaysAllow'], { samplingRatePerMillion: 1_000_000 });
  const answer = await new Http1(server).send({ path: `${MAPS}/x`, token: NOBODY, headers: TRACEPARENT });
  expect(answer.status).toBe(404);
  const request = found(await traced(server), 'GET /api/v1/namespaces/{:namespace}/configmaps/{:name}');
  expect(request).toMatchObject({ parentId: '', links: [TRACE] });
  expect(request.traceId).not.toBe(TRACE);
});

test('the time a request waits in a user queue is a span', async () => {
  const flags = ['--authorization-mode=AlwaysAllow', '--max-mutating-requests-inflight=1'];
  const server = await start(flags, { samplingRatePerMillion: 1_000_000 });
  const http = new Http1(server);
  const create = (_: unknown, i: number): Promise<Answer> =>
    http.send({ method: 'POST', path: MAPS, token: NOBODY, body: configMap(`queued-${i}`) });
  const answers = await Promise.all(Array.from({ length: 20 }, create));
  expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([201]));
  const spans = await traced(server);
  const waited = found(spans, 'priorityandfairness');
  expect(spans.find(({ spanId }) => spanId === waited.parentId)?.name).toMatch(/^POST \/api\/v1\/namespaces/);
});

test('latencies have exemplars if the client asks for OpenMetrics', async () => {
  const server = await start();
  const http = new Http1(server);
  await http.send({ path: MAPS, headers: TRACEPARENT });
  const plain = await http.get('/metrics');
  expect(plain.headers['content-type']).toMatch(/^text\/plain/);
  expect(plain.text).not.toContain('trace_id');
  const open = await http.get('/metrics', { accept: 'application/openmetrics-text;version=1.0.0,text/plain;q=0.5' });
  expect(open.headers['content-type']).toMatch(/^application\/openmetrics-text; version=1\.0\.0/);
  expect(open.text).toMatch(/# EOF\n$/);
  const exemplar = new RegExp(
    `^apiserver_request_duration_seconds_bucket\\{.*verb="LIST".*\\} 1 # \\{trace_id="${TRACE}",span_id="[0-9a-f]{16}"\\} [\\d.e-]+ [\\d.]+$`,
    'm',
  );
  expect(open.text).toMatch(exemplar);
  // Both formats have the same series names.
  const names = (text: string): Set<string> => new Set(text.match(/^[a-z]\w*(?=[{ ])/gm));
  expect([...names(open.text)].filter((name) => !names(plain.text).has(name))).toEqual([]);
  await server.stop();
  receiver.spans.splice(0);
});

test.each([
  [
    'a scheme',
    { endpoint: 'http://collector' },
    /^annex: failed to validate tracing configuration: endpoint: Invalid value: "http:\/\/collector": unsupported scheme: http\./,
  ],
  [
    'an unknown field',
    { sampling: 1 },
    /^annex: failed to read tracing config: unable to decode tracing configuration data: strict decoding error: unknown field "sampling"$/m,
  ],
])('a configuration with %s is refused', async (name, more, message) => {
  const file = configuration(name.replace(/ /g, '-'), more);
  const { code, stderr } = await run([
    'serve',
    '--data-dir',
    join(folder, 'refused'),
    '--secure-port=0',
    '--tracing-config-file',
    file,
  ]);
  expect({ code, stderr }).toEqual({ code: 1, stderr: expect.stringMatching(message) as unknown });
});

const mongod = findMongod();
if ('reason' in mongod) test.skip(`MongoDB: ${mongod.reason}`, () => undefined);
else {
  test('MongoDB commands are spans of the requests that cause them', async () => {
    const set = await ReplicaSet.start(mongod.path, 1);
    sets.push(set);
    writeFileSync(join(folder, 'uri'), set.uri);
    const server = await start(['--storage-backend=mongodb', '--mongodb-uri-file', join(folder, 'uri')]);
    const value = plant('secret-of-a-traced-document-52');
    const body = { ...configMap('traced'), data: { value } };
    const created = await new Http1(server).send({ method: 'POST', path: MAPS, body, headers: TRACEPARENT });
    expect(created.status).toBe(201);
    const got = await new Http1(server).send({ path: `${MAPS}/traced`, headers: TRACEPARENT });
    expect(got.status).toBe(200);
    const spans = await traced(server);
    expect(found(spans, 'Create etcd3')).toMatchObject({ traceId: TRACE });
    const waited = found(spans, 'cacher.Get');
    const attributes = { 'db.system': 'mongodb', 'db.operation': 'find' };
    expect(found(spans, 'find log')).toMatchObject({ parentId: waited.spanId, traceId: TRACE, attributes });
    expect(leaksOf(receiver.text, [value])).toEqual([]);
    expect(dig(JSON.parse(created.text) as JsonObject, 'data', 'value')).toBe(value);
  });
}
