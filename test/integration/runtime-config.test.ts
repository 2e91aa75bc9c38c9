import type { JsonObject } from '../../src/apimachinery/json/json.js';
import { dig, digText, Http1, treeOf } from './client.js';
import { eventually, run, scratchFolder, TestServer } from './server.js';

const DEFINITIONS = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions';
const GROUP = 'rehearsal.example.com';
const LEASES = '/apis/coordination.k8s.io/v1/namespaces/default/leases';

function version(name: string, storage: boolean): JsonObject {
  return { name, served: true, storage, schema: { openAPIV3Schema: { type: 'object' } } };
}

const DEFINITION = {
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  metadata: { name: `widgets.${GROUP}` },
  spec: {
    group: GROUP,
    scope: 'Cluster',
    names: { plural: 'widgets', kind: 'Widget' },
    versions: [version('v1', true), version('v1alpha2', false)],
  },
};

const folder = scratchFolder(async () => server?.stop('SIGKILL'));
let server: TestServer | undefined;

async function restart(...flags: string[]): Promise<Http1> {
  await server?.stop();
  server = await TestServer.start(folder, flags);
  return new Http1(server);
}

async function status(client: Http1, path: string): Promise<number> {
  return (await client.send({ path })).status;
}

async function created(client: Http1, path: string, body: JsonObject): Promise<JsonObject> {
  const answer = await client.send({ method: 'POST', path, body: JSON.stringify(body) });
  expect(answer.status).toBe(201);
  return treeOf(answer);
}

test('the server starts without the types that it works with itself', async () => {
  const client = await restart('--runtime-config=api/all=false,/v1=true');
  expect(await status(client, '/apis/admissionregistration.k8s.io/v1')).toBe(404);
  expect(await status(client, '/api/v1/namespaces')).toBe(200);
});

test('versions that are switched off are gone, and come back with their objects', async () => {
  let client = await restart();
  await created(client, DEFINITIONS, DEFINITION);
  await eventually('the definition is served', async () =>
    (await status(client, `/apis/${GROUP}/v1alpha2/widgets`)) === 200 ? true : undefined,
  );
  await created(client, `/apis/${GROUP}/v1/widgets`, {
    apiVersion: `${GROUP}/v1`,
    kind: 'Widget',
    metadata: { name: 'a' },
  });
  const lease = await created(client, LEASES, {
    apiVersion: 'coordination.k8s.io/v1',
    kind: 'Lease',
    metadata: { name: 'a' },
  });

  client = await restart(`--runtime-config=coordination.k8s.io/v1=false,${GROUP}/v1alpha2=false`);
  expect(await status(client, LEASES)).toBe(404);
  expect(await status(client, '/apis/coordination.k8s.io/v1')).toBe(404);
  expect(await status(client, '/apis/coordination.k8s.io')).toBe(404);
  expect(await status(client, '/openapi/v3/apis/coordination.k8s.io/v1')).toBe(404);
  expect((await client.send({ path: '/apis' })).text).not.toContain('coordination.k8s.io');
  expect((await client.send({ path: '/openapi/v2' })).text).not.toContain('io.k8s.api.coordination.v1');
  expect(await status(client, `/apis/${GROUP}/v1alpha2/widgets/a`)).toBe(404);
  expect(await status(client, `/apis/${GROUP}/v1alpha2`)).toBe(404);
  expect(await status(client, `/apis/${GROUP}/v1/widgets/a`)).toBe(200);
  const group = treeOf(await client.send({ path: `/apis/${GROUP}` }));
  expect(dig(group, 'versions')).toHaveLength(1);

  client = await restart(`--runtime-config=${GROUP}/v1=false,${GROUP}/v1alpha2=false`);
  expect(await status(client, `/apis/${GROUP}`)).toBe(404);

  client = await restart();
  const again = treeOf(await client.send({ path: `${LEASES}/a` }));
  expect(digText(again, 'metadata', 'uid')).toBe(digText(lease, 'metadata', 'uid'));
  expect(await status(client, `/apis/${GROUP}/v1alpha2/widgets/a`)).toBe(200);
});

test('a resource can be switched off by itself', async () => {
  const client = await restart('--runtime-config=rbac.authorization.k8s.io/v1/roles=false');
  expect(await status(client, '/apis/rbac.authorization.k8s.io/v1/roles')).toBe(404);
  expect(await status(client, '/apis/rbac.authorization.k8s.io/v1/clusterroles')).toBe(200);
});

test('an unknown group ends the start', async () => {
  const ended = await run(['serve', '--data-dir', folder, '--runtime-config=nowhere/v1=true']);
  expect(ended).toMatchObject({ code: 1 });
  expect(ended.stderr).toContain('unknown api groups nowhere/v1');
});
