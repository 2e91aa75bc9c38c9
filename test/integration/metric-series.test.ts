import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Http1, Http2 } from './client.js';
import { definition } from './objects.js';
import { TestCa } from './openid/certificates.js';
import { ADMIN, eventually, scratchFolder, TestServer } from './server.js';

const GROUP = 'series.example.com';
const PROXIED = { 'x-remote-group': 'system:masters' };

/** The labels of metrics come from closed sets: whatever strangers send, there are no more series than before. */
describe('series', () => {
  const proxies = new TestCa('proxies');
  let server: TestServer | undefined;
  const folder = scratchFolder(async () => server?.stop('SIGKILL'));

  beforeAll(async () => {
    writeFileSync(join(folder, 'proxies.pem'), proxies.pem);
    server = await TestServer.start(folder, [
      `--requestheader-client-ca-file=${join(folder, 'proxies.pem')}`,
      '--requestheader-username-headers=X-Remote-User',
      '--requestheader-group-headers=X-Remote-Group',
    ]);
    const http = new Http1(server);
    const path = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions';
    const made = definition(GROUP, 'things', 'Thing') as { spec: { versions: object[] } };
    Object.assign(made.spec.versions[0] ?? {}, { deprecated: true });
    expect((await http.post(path, made)).status).toBe(201);
    await eventually('the type is served', async () =>
      (await http.get(`/apis/${GROUP}/v1/namespaces/default/things`)).status === 200 ? true : undefined,
    );
  });

  /** Sends requests with `x` wherever a client may put something, directly and as a front proxy does. */
  async function strangers(x: string, direct: Http1, proxy: Http1): Promise<void> {
    const types = [
      '/api/v1/namespaces/default/configmaps',
      `/apis/${GROUP}/v1/namespaces/default/things`,
      '/api/v1/nodes',
    ];
    const sends: (() => Promise<unknown>)[] = [];
    const add = (method: string, path: string, headers: Record<string, string> = {}, body?: object): void => {
      sends.push(() => direct.send({ method, path, headers, ...(body && { body }) }));
      sends.push(() =>
        proxy.send({
          method,
          path,
          token: '',
          headers: { ...headers, ...PROXIED, 'x-remote-user': x },
          ...(body && { body }),
        }),
      );
    };
    for (const type of types) {
      for (const method of ['GET', 'PUT', 'POST', 'PATCH', 'DELETE', 'HEAD', 'OPTIONS', 'PROPFIND']) {
        add(method, `${type}/foo/${x}`);
        add(method, `${type}/foo/${x}/${x}`);
        add(method, `${type}/${x}/status`);
      }
      add('GET', `${type}?watch=${x}&timeoutSeconds=1&resourceVersion=${x}`);
      add('GET', `${type}?labelSelector=a=${x}&fieldSelector=metadata.name=${x}&limit=1&continue=${x}`);
      add('GET', type, { accept: `application/${x}` });
      add('GET', type, { accept: `application/json;as=${x};g=${x};v=${x}` });
      add(
        'POST',
        `${type}?dryRun=${x}&fieldManager=${x}&fieldValidation=${x}`,
        { 'content-type': `application/${x}` },
        {},
      );
      add('PATCH', `${type}/foo?dryRun=${x}`, { 'content-type': `application/${x}+json` }, {});
      add('GET', type, { 'impersonate-user': x, 'impersonate-group': x });
    }
    add('GET', `/${x}`);
    add('GET', `/healthz/${x}`);
    add('GET', `/openapi/v3/${x}`);
    add('GET', `/apis/${x}/v1/things/foo`);
    add('GET', `/apis/${GROUP}/${x}/things/foo`);
    add('GET', `/api/v1/namespaces/${x}/${x}/${x}/${x}`);
    add('GET', '/version', { 'user-agent': x, 'audit-id': x, traceparent: x });
    add('POST', `/apis/authorization.k8s.io/v1/selfsubjectaccessreviews/${x}/${x}`, {}, {});
    sends.push(() => direct.send({ path: '/version', token: x }));
    sends.push(() => direct.send({ path: '/version', token: '', headers: { authorization: `${x} ${x}` } }));
    for (const send of sends) await send().catch(() => undefined);
    const session = new Http2(server as TestServer);
    await session.send({ method: x.toUpperCase(), path: types[0] ?? '' }).catch(() => undefined);
  }

  test('no request makes a new one', async () => {
    const current = server as TestServer;
    const direct = new Http1(current, 1);
    const proxy = new Http1(current, 1, proxies.client('front', []));
    const series = async (): Promise<string[]> => {
      const { text } = await direct.send({ path: '/metrics', token: ADMIN });
      // Those of the process depend on its garbage collections.
      return text.split('\n').flatMap((line) => /^(?!#|nodejs_).*\}/.exec(line)?.[0] ?? []);
    };
    await strangers('known', direct, proxy);
    await strangers('known', direct, proxy);
    // The read of the metrics is a request, too.
    await series();
    const before = await series();
    for (let i = 0; i < 5; i++) await strangers(`stranger${i}`, direct, proxy);
    const after = await series();
    expect(before.length).toBeGreaterThan(1000);
    expect(after.filter((line) => line.includes('stranger'))).toEqual([]);
    const known = new Set(before);
    expect(after.filter((line) => !known.has(line))).toEqual([]);
  });
});
