import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Call, Http1 } from '../integration/client.js';
import { scratchFolder, TestServer } from '../integration/server.js';
import { OtlpReceiver } from '../integration/tracing/otlp-receiver.js';
import { leaksOf, plant } from './leaks.js';

const NS = '/api/v1/namespaces/default';
const VALID = 'admin-of-traces-planted-5e21';
const planted: string[] = [plant(VALID)];
function secret(what: string): string {
  const text = `${what}-planted-traced-${planted.length}-77c0`;
  planted.push(plant(text));
  return text;
}

describe('a server that traces and audits every request', () => {
  let server: TestServer | undefined;
  let receiver: OtlpReceiver;
  const folder = scratchFolder(async () => {
    await server?.stop('SIGKILL');
    receiver.stop();
  });
  const file = (name: string, content: string): string => {
    writeFileSync(join(folder, name), content);
    return join(folder, name);
  };
  const send = (call: Call) => new Http1(server as TestServer).send({ token: VALID, ...call });

  beforeAll(async () => {
    receiver = await OtlpReceiver.start();
    const { endpoint } = receiver;
    const tracing = { apiVersion: 'apiserver.config.k8s.io/v1', kind: 'TracingConfiguration', endpoint };
    // A webhook with credentials in its address, which nobody answers: its errors name the address.
    const address = `https://annex:${secret('webhook-address')}@127.0.0.1:1/review`;
    const webhook = (name: string): string =>
      file(
        name,
        JSON.stringify({
          clusters: [{ name: 'c', cluster: { server: address } }],
          users: [{ name: 'u', user: { username: 'annex', password: secret('webhook-password') } }],
          contexts: [{ name: 'x', context: { cluster: 'c', user: 'u' } }],
          'current-context': 'x',
        }),
      );
    // Level Metadata for Secrets, so nothing of them may be there; Request for all else.
    const rules = [
      { level: 'Metadata', resources: [{ group: '', resources: ['secrets', 'configmaps'] }] },
      { level: 'RequestResponse' },
    ];
    server = await TestServer.start(folder, [
      ...['-v', '10', '--token-auth-file', file('users.csv', `${VALID},root,root,system:masters\n`)],
      ...[
        '--tracing-config-file',
        file('tracing.yaml', JSON.stringify({ ...tracing, samplingRatePerMillion: 1_000_000 })),
      ],
      ...[
        '--audit-policy-file',
        file('policy.yaml', JSON.stringify({ apiVersion: 'audit.k8s.io/v1', kind: 'Policy', rules })),
      ],
      ...['--audit-log-path', join(folder, 'audit.log')],
      ...['--authentication-token-webhook-config-file', webhook('authentication.kubeconfig')],
      ...['--authorization-webhook-config-file', webhook('authorization.kubeconfig')],
      ...['--authorization-mode', 'RBAC,Webhook'],
    ]);
  });

  test('no credentials and no content reach spans, logs, or audit events below their level', async () => {
    const json = { 'content-type': 'application/json' };
    const value = secret('content');
    const body = { metadata: { name: 's' }, stringData: { value } };
    const websocket = Buffer.from(secret('websocket')).toString('base64url');
    const tried: Call[] = [
      { path: `${NS}/secrets`, token: secret('bearer') },
      { path: `${NS}/secrets`, token: '', headers: { authorization: `Basic ${secret('basic')}` } },
      {
        path: `${NS}/pods?watch=1`,
        token: '',
        headers: {
          connection: 'upgrade',
          upgrade: 'websocket',
          'sec-websocket-version': '13',
          'sec-websocket-key': 'AAAAAAAAAAAAAAAAAAAAAA==',
          'sec-websocket-protocol': `base64url.bearer.authorization.k8s.io.${websocket}`,
        },
      },
      { path: `${NS}/secrets/none`, headers: { cookie: secret('cookie'), 'x-api-key': secret('header') } },
      { path: `${NS}/secrets/none`, headers: { 'impersonate-user': 'jane', 'x-remote-extra-x': secret('extra') } },
      { method: 'POST', path: `${NS}/secrets`, body },
      { method: 'POST', path: `${NS}/secrets`, body: { metadata: { name: 'bad' }, data: { value } } },
      { method: 'POST', path: `${NS}/secrets`, body: { metadata: { name: 'bad' }, data: value } },
      { method: 'POST', path: `${NS}/secrets`, body: `{"stringData":{"k":"${value}"`, headers: json },
      {
        method: 'PATCH',
        path: `${NS}/secrets/s`,
        body: [{ op: 'test', path: '/data/value', value }],
        headers: { 'content-type': 'application/json-patch+json' },
      },
      {
        method: 'POST',
        path: `${NS}/configmaps`,
        body: { metadata: { name: 'c' }, data: { value }, binaryData: { value } },
      },
      {
        method: 'POST',
        path: '/apis/authentication.k8s.io/v1/tokenreviews',
        body: { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenReview', spec: { token: secret('reviewed') } },
      },
      { path: `${NS}/secrets`, headers: { traceparent: secret('traceparent'), tracestate: secret('tracestate') } },
    ];
    const statuses = new Set<number>();
    for (const call of tried) statuses.add((await send(call)).status);
    expect(statuses).toEqual(expect.objectContaining(new Set([201, 401, 404, 422])));
    // The query is part of an audit event's URI, as in kube-apiserver. It is in no span and no line of the log.
    const query = secret('query');
    for (const name of ['token', 'access_token'])
      expect((await send({ path: `${NS}/secrets?${name}=${query}` })).status).toBe(200);
    const { stderr, stdout } = await (server as TestServer).stop();
    expect(stderr).toMatch(/"?HTTP"?/);
    expect(leaksOf(stderr + stdout, planted)).toEqual([]);
    expect(receiver.spans.map(({ name }) => name)).toContain('POST /api/v1/namespaces/{:namespace}/secrets');
    expect(leaksOf(receiver.text, planted)).toEqual([]);
    const audit = readFileSync(join(folder, 'audit.log'), 'utf8');
    expect(audit).toContain('"stage":"ResponseComplete"');
    const others = planted.filter((one) => one !== query);
    expect(leaksOf(audit, others)).toEqual([]);
  });
});
