import { dig, digText, Http1, treeOf } from './client.js';
import { configMap, define, namespace } from './objects.js';
import { eventually, serverForFile } from './server.js';

const server = serverForFile();
const GROUP = 'quotas.example.com';

let http: Http1;
beforeAll(() => {
  http = new Http1(server.current);
});

type Amounts = Readonly<Record<string, string>>;

async function quota(inNamespace: string, hard: Amounts): Promise<void> {
  expect((await http.post('/api/v1/namespaces', namespace(inNamespace))).status).toBe(201);
  const body = { apiVersion: 'v1', kind: 'ResourceQuota', metadata: { name: 'q' }, spec: { hard } };
  expect((await http.post(`/api/v1/namespaces/${inNamespace}/resourcequotas`, body)).status).toBe(201);
}

/** Waits until the status reports this usage. */
const used = (inNamespace: string, wanted: Amounts): Promise<true> =>
  eventually(`used in ${inNamespace}: ${JSON.stringify(wanted)}`, async () => {
    const answer = treeOf(await http.get(`/api/v1/namespaces/${inNamespace}/resourcequotas/q`));
    const status = dig(answer, 'status', 'used');
    return JSON.stringify(status) === JSON.stringify(wanted) ? true : undefined;
  });

test('objects are counted, rejected beyond the limit, and subtracted when they are deleted', async () => {
  await quota('maps', { configmaps: '4', 'count/secrets': '0' });
  // Every namespace has the ConfigMap with the root certificates.
  await used('maps', { configmaps: '1', 'count/secrets': '0' });
  const maps = '/api/v1/namespaces/maps/configmaps';
  const answers = await Promise.all(['a', 'b', 'c', 'd', 'e', 'f'].map((name) => http.post(maps, configMap(name))));
  expect(answers.map(({ status }) => status).sort()).toEqual([201, 201, 201, 403, 403, 403]);
  const refused = answers.find(({ status }) => status === 403);
  expect(digText(treeOf(refused ?? { text: '{}' }), 'message')).toContain(
    'exceeded quota: q, requested: configmaps=1, used: configmaps=4, limited: configmaps=4',
  );
  await used('maps', { configmaps: '4', 'count/secrets': '0' });
  const made = ['a', 'b', 'c', 'd', 'e', 'f'].filter((_, i) => answers[i]?.status === 201);
  expect((await http.send({ method: 'DELETE', path: `${maps}/${made[0] ?? ''}` })).status).toBe(200);
  await used('maps', { configmaps: '3', 'count/secrets': '0' });
  expect((await http.post(maps, configMap('again'))).status).toBe(201);
});

test('custom resources are counted once they are served', async () => {
  const count = `count/widgets.${GROUP}`;
  await quota('widgets', { [count]: '2' });
  await define(http, GROUP, 'widgets', 'Widget');
  await used('widgets', { [count]: '0' });
  const path = `/apis/${GROUP}/v1/namespaces/widgets/widgets`;
  const create = async (name: string): Promise<number> =>
    (await http.post(path, { apiVersion: `${GROUP}/v1`, kind: 'Widget', metadata: { name } })).status;
  expect([await create('a'), await create('b'), await create('c')]).toEqual([201, 201, 403]);
  expect((await http.send({ method: 'DELETE', path })).status).toBe(200);
  await used('widgets', { [count]: '0' });
});

test('new limits and their usage are reported', async () => {
  await quota('limits', { secrets: '5' });
  await used('limits', { secrets: '0' });
  const path = '/api/v1/namespaces/limits/resourcequotas/q';
  const headers = { 'content-type': 'application/merge-patch+json' };
  const body = { spec: { hard: { secrets: null, configmaps: '1' } } };
  expect((await http.send({ method: 'PATCH', path, body, headers })).status).toBe(200);
  await used('limits', { configmaps: '1' });
  expect(dig(treeOf(await http.get(path)), 'status', 'hard')).toEqual({ configmaps: '1' });
});

test('a quota without limits has an empty status', async () => {
  await quota('nothing', { secrets: '1' });
  await used('nothing', { secrets: '0' });
  const path = '/api/v1/namespaces/nothing/resourcequotas/q';
  const headers = { 'content-type': 'application/merge-patch+json' };
  const body = { spec: { hard: null } };
  expect((await http.send({ method: 'PATCH', path, body, headers })).status).toBe(200);
  await eventually('the status is empty', async () =>
    JSON.stringify(dig(treeOf(await http.get(path)), 'status')) === '{}' ? true : undefined,
  );
});

test('terminated pods use nothing, and every pod has a service account', async () => {
  await quota('pods', { pods: '1', 'requests.cpu': '1' });
  await used('pods', { pods: '0', 'requests.cpu': '0' });
  const pods = '/api/v1/namespaces/pods/pods';
  const resources = { requests: { cpu: '300m' } };
  const pod = (name: string): object => ({
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name },
    spec: { containers: [{ name: 'a', image: 'i', resources }] },
  });
  const made = await http.post(pods, pod('one'));
  expect(made.status).toBe(201);
  const spec = dig(treeOf(made), 'spec');
  expect(spec).toMatchObject({
    serviceAccountName: 'default',
    containers: [{ volumeMounts: [{ mountPath: '/var/run/secrets/kubernetes.io/serviceaccount' }] }],
  });
  await used('pods', { pods: '1', 'requests.cpu': '300m' });
  expect((await http.post(pods, pod('two'))).status).toBe(403);
  const headers = { 'content-type': 'application/merge-patch+json' };
  const status = { status: { phase: 'Succeeded' } };
  const ended = await http.send({ method: 'PATCH', path: `${pods}/one/status`, body: status, headers });
  expect(ended.status).toBe(200);
  await used('pods', { pods: '0', 'requests.cpu': '0' });
  expect((await http.post(pods, pod('two'))).status).toBe(201);
});
