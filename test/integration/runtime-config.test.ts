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

test('starts without the types that the server itself uses', async () => {
  const client = await restart('--runtime-config=api/all=false,/v1=true');
  expect(await status(client, '/apis/admissionregistration.k8s.io/v1')).toBe(404);
  expect(await status(client, '/api/v1/namespaces')).toBe(200);
});

test('disabled versions disappear, and return with their objects', async () => {
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

test('a single resource can be disabled', async () => {
  const client = await restart('--runtime-config=rbac.authorization.k8s.io/v1/roles=false');
  expect(await status(client, '/apis/rbac.authorization.k8s.io/v1/roles')).toBe(404);
  expect(await status(client, '/apis/rbac.authorization.k8s.io/v1/clusterroles')).toBe(200);
});

test('an unknown group prevents the start', async () => {
  const ended = await run(['serve', '--data-dir', folder, '--runtime-config=nowhere/v1=true']);
  expect(ended).toMatchObject({ code: 1 });
  expect(ended.stderr).toContain('unknown api groups nowhere/v1');
});

describe('admissionregistration.k8s.io versions that are off by default', () => {
  const GROUP_PATH = '/apis/admissionregistration.k8s.io';
  const policies = (version: string): string => `${GROUP_PATH}/${version}/mutatingadmissionpolicies`;
  const bindings = (version: string): string => `${GROUP_PATH}/${version}/mutatingadmissionpolicybindings`;
  const ON = '--runtime-config=admissionregistration.k8s.io/v1beta1=true,admissionregistration.k8s.io/v1alpha1=true';
  const described = (version: string, kind: string, spec: JsonObject): JsonObject => ({
    apiVersion: `admissionregistration.k8s.io/${version}`,
    kind,
    metadata: { name: 'marks' },
    spec,
  });
  const POLICY: JsonObject = {
    reinvocationPolicy: 'Never',
    matchConstraints: {
      resourceRules: [{ apiGroups: [''], apiVersions: ['v1'], operations: ['CREATE'], resources: ['configmaps'] }],
    },
    mutations: [
      { patchType: 'ApplyConfiguration', applyConfiguration: { expression: 'Object{data: {"marked": "yes"}}' } },
    ],
  };

  test('are not served', async () => {
    const client = await restart();
    const { versions } = treeOf(await client.send({ path: GROUP_PATH }));
    expect(versions).toEqual([{ groupVersion: 'admissionregistration.k8s.io/v1', version: 'v1' }]);
    expect(await status(client, policies('v1beta1'))).toBe(404);
  });

  test('serve the same objects, which are enforced', async () => {
    const client = await restart(ON);
    const names = dig(treeOf(await client.send({ path: GROUP_PATH })), 'versions') as { version: string }[];
    expect(names.map(({ version }) => version)).toEqual(['v1', 'v1beta1', 'v1alpha1']);
    const { resources } = treeOf(await client.send({ path: `${GROUP_PATH}/v1beta1` }));
    expect((resources as { name: string }[]).map(({ name }) => name)).toEqual([
      'mutatingadmissionpolicies',
      'mutatingadmissionpolicybindings',
    ]);
    await created(client, policies('v1beta1'), described('v1beta1', 'MutatingAdmissionPolicy', POLICY));
    const binding = described('v1alpha1', 'MutatingAdmissionPolicyBinding', { policyName: 'marks' });
    await created(client, bindings('v1alpha1'), binding);
    const kind = (version: string): string => `admissionregistration.k8s.io/${version} MutatingAdmissionPolicy`;
    const warnings: Readonly<Record<string, string>> = {
      v1beta1: `299 - "${kind('v1beta1')} is deprecated in v1.37+, unavailable in v1.40+; use ${kind('v1')}"`,
      v1alpha1: `299 - "${kind('v1alpha1')} is deprecated in v1.35+, unavailable in v1.38+"`,
    };
    for (const version of ['v1', 'v1beta1', 'v1alpha1']) {
      const answer = await client.send({ path: `${policies(version)}/marks` });
      const object = treeOf(answer);
      expect(object['apiVersion']).toBe(`admissionregistration.k8s.io/${version}`);
      expect(dig(object, 'spec', 'matchConstraints', 'matchPolicy')).toBe('Equivalent');
      expect(dig(object, 'metadata', 'managedFields', 0, 'apiVersion')).toBe('admissionregistration.k8s.io/v1beta1');
      expect(answer.headers['warning']).toBe(warnings[version]);
    }
    await eventually('the policy holds', async () => {
      const body = JSON.stringify({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'probe' } });
      const answer = await client.send({
        method: 'POST',
        path: '/api/v1/namespaces/default/configmaps?dryRun=All',
        body,
      });
      return dig(treeOf(answer), 'data', 'marked') === 'yes' ? true : undefined;
    });
  });

  test('support apply with managers recorded in other versions', async () => {
    const client = await restart(ON);
    const apply = async (version: string, manager: string, spec: JsonObject): Promise<number> => {
      const body = JSON.stringify(described(version, 'MutatingAdmissionPolicy', spec));
      const path = `${policies(version)}/marks?fieldManager=${manager}`;
      return (
        await client.send({ method: 'PATCH', path, body, headers: { 'content-type': 'application/apply-patch+yaml' } })
      ).status;
    };
    const conditions = { matchConditions: [{ name: 'all', expression: 'true' }] };
    expect(await apply('v1alpha1', 'early', conditions)).toBe(200);
    expect(await apply('v1', 'late', { matchConditions: [{ name: 'all', expression: 'false' }] })).toBe(409);
    expect(await apply('v1', 'late', conditions)).toBe(200);
    expect(await apply('v1', 'early', {})).toBe(200);
    const left = treeOf(await client.send({ path: `${policies('v1beta1')}/marks` }));
    expect(dig(left, 'spec', 'matchConditions')).toEqual(conditions.matchConditions);
  });

  test('keep their objects enforced when they, or v1 itself, are disabled', async () => {
    const client = await restart(
      '--runtime-config=admissionregistration.k8s.io/v1=false,admissionregistration.k8s.io/v1beta1=true',
    );
    expect(await status(client, policies('v1'))).toBe(404);
    expect(await status(client, `${policies('v1beta1')}/marks`)).toBe(200);
    const body = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'marked' } };
    const made = await created(client, '/api/v1/namespaces/default/configmaps', body);
    expect(dig(made, 'data', 'marked')).toBe('yes');
  });
});
