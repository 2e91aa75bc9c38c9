import { IncomingMessage, ServerResponse } from 'node:http';
import { Socket } from 'node:net';
import { Registry } from 'prom-client';
import { Exchange } from '../../endpoints/filters/exchange.js';
import type { Handler } from '../../endpoints/http.js';
import { FakeClock } from '../../../test/fakes/util/clock.js';
import { FeatureGates } from '../../util/feature-gates.js';
import { CounterVec, GaugeVec, resetCounts } from '../../util/metrics/metrics.js';
import { defaultOptions } from '../options/options.js';
import { installZPages } from './zpages.js';

class RecordedResponse extends ServerResponse {
  body = '';

  override end(chunk?: unknown): this {
    this.body = Buffer.isBuffer(chunk) ? chunk.toString() : String(chunk);
    return this;
  }
}

function bed(gates = new FeatureGates()) {
  const clock = new FakeClock();
  const handlers = new Map<string, Handler>();
  const options = { ...defaultOptions(), mongodbUri: 'mongodb://u:secret@h/', requestTimeout: 90_000 };
  const paths = (): string[] => ['/api/v1', '/apis/', '/healthz', '/livez', '/livez/ping', '/openid/v1/jwks'];
  const register = (path: string, handler: Handler): void => void handlers.set(path, handler);
  installZPages({ register, paths }, { clock, gates, options });
  const get = async (path: string, accept?: string): Promise<RecordedResponse> => {
    const request = new IncomingMessage(new Socket());
    if (accept !== undefined) request.headers.accept = accept;
    const response = new RecordedResponse(request);
    const connection = { socket: undefined, http2: false, retire: () => undefined };
    await handlers.get(path)?.(new Exchange(request, response, connection, 'id', 0, 0, path, ''), request, response);
    return response;
  };
  return { clock, handlers, get };
}

const structured = (kind: string, version: string): string =>
  `application/json;as=${kind};g=config.k8s.io;v=${version}`;

test('statusz reports the uptime and the health paths', async () => {
  const { clock, get } = bed();
  clock.advance(3_725_000);
  const { body } = await get('/statusz');
  expect(body).toContain('\nUp: 1 hr 02 min 05 sec\n');
  expect(body).toContain('\nPaths: /healthz /livez\n');
  expect(JSON.parse((await get('/statusz', structured('Statusz', 'v1beta1'))).body)).toMatchObject({
    kind: 'Statusz',
    apiVersion: 'config.k8s.io/v1beta1',
    uptimeSeconds: 3725,
    paths: ['/healthz', '/livez'],
  });
});

test('flagz shows values as given, but no passwords', async () => {
  const { get } = bed();
  const { body } = await get('/flagz');
  expect(body).toContain('\nrequest-timeout: 1m30s\n');
  expect(body).toContain('\nauthorization-mode: [Node,RBAC]\n');
  expect(body).toContain('\nmongodb-uri: CLASSIFIED\n');
  const old = await get('/flagz', structured('Flagz', 'v1alpha1'));
  expect(old.getHeader('Warning')).toContain('deprecated');
  expect(JSON.parse(old.body)).toMatchObject({ flags: { 'mongodb-uri': 'CLASSIFIED', v: '0' } });
});

test('refuses other forms, and feature gates disable the pages', async () => {
  const { get } = bed();
  await expect(get('/statusz', 'application/json')).rejects.toMatchObject({ code: 406 });
  await expect(get('/statusz', structured('Flagz', 'v1beta1'))).rejects.toMatchObject({ code: 406 });
  const gates = new FeatureGates();
  gates.set('ComponentFlagz=false,ComponentStatusz=false');
  expect(bed(gates).handlers.size).toBe(0);
});

test('resets counters, including series in use, and keeps gauges', async () => {
  const registry = new Registry();
  const counter = new CounterVec({ name: 'c', help: 'c', labels: ['a'] }, registry);
  const gauge = new GaugeVec({ name: 'g', help: 'g', labels: [] }, registry);
  const cell = counter.withLabelValues('x');
  cell.inc(5);
  gauge.withLabelValues().value = 3;
  resetCounts(registry);
  cell.inc();
  expect(await registry.metrics()).toContain('c{a="x"} 1\n');
  expect(await registry.metrics()).toContain('g 3\n');
});
