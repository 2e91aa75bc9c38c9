import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import type { JsonObject } from '../../src/apimachinery/json/json.js';
import { dig, digText, Http1, treeOf } from './client.js';
import { run, scratchFolder, TestServer } from './server.js';

const DEFINITIONS = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions';
/** A CEL function introduced in Kubernetes 1.37. */
const NEW_RULE = 'self.includes(2)';

function definition(kind: string, rule: string): JsonObject {
  const plural = `${kind.toLowerCase()}s`;
  const list = { type: 'array', maxItems: 5, items: { type: 'integer' }, 'x-kubernetes-validations': [{ rule }] };
  const schema = { openAPIV3Schema: { type: 'object', properties: { l: list, n: { type: 'integer' } } } };
  return {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: `${plural}.emulation.example.com` },
    spec: {
      group: 'emulation.example.com',
      scope: 'Cluster',
      names: { plural, kind },
      versions: [{ name: 'v1', served: true, storage: true, schema }],
    },
  };
}

const folder = scratchFolder(async () => server?.stop('SIGKILL'));
let server: TestServer | undefined;

async function restart(...flags: string[]): Promise<Http1> {
  await server?.stop();
  server = await TestServer.start(folder, flags);
  return new Http1(server);
}

interface Sent {
  readonly status: number;
  readonly body: JsonObject;
}

async function send(client: Http1, method: string, path: string, body?: JsonObject): Promise<Sent> {
  const answer = await client.send({ method, path, ...(body === undefined ? {} : { body: JSON.stringify(body) }) });
  return { status: answer.status, body: treeOf(answer) };
}

test('the emulated version limits new expressions; stored expressions continue to work', async () => {
  let client = await restart();
  expect(treeOf(await client.send({ path: '/version' }))).toMatchObject({
    emulationMinor: '37',
    minCompatibilityMinor: '36',
  });
  client = await restart('--min-compatibility-version=1.37');
  expect((await send(client, 'POST', DEFINITIONS, definition('Known', NEW_RULE))).status).toBe(201);
  client = await restart('--emulated-version=kube=1.34');
  expect(treeOf(await client.send({ path: '/version' }))).toMatchObject({
    minor: '37',
    emulationMajor: '1',
    emulationMinor: '34',
    minCompatibilityMajor: '1',
    minCompatibilityMinor: '34',
  });
  const refused = await send(client, 'POST', DEFINITIONS, definition('Fresh', NEW_RULE));
  expect(refused.status).toBe(422);
  expect(digText(refused.body, 'message')).toContain("undeclared reference to 'includes'");
  const path = '/apis/emulation.example.com/v1/knowns';
  const object = (l: number[]): JsonObject => ({
    apiVersion: 'emulation.example.com/v1',
    kind: 'Known',
    metadata: { generateName: 'a' },
    l,
  });
  const broken = await send(client, 'POST', path, object([1, 1]));
  expect([broken.status, digText(broken.body, 'message')]).toEqual([
    422,
    expect.stringContaining(`failed rule: ${NEW_RULE}`),
  ]);
  expect((await send(client, 'POST', path, object([1, 2]))).status).toBe(201);
  // An update may keep the stored rule but not add another rule of that kind.
  const name = `${DEFINITIONS}/knowns.emulation.example.com`;
  const stored = (await send(client, 'GET', name)).body;
  const unchanged = { ...stored, metadata: { ...(stored['metadata'] as JsonObject), labels: { a: 'b' } } };
  const kept = await send(client, 'PUT', name, unchanged);
  expect([kept.status, dig(kept.body, 'metadata', 'labels', 'a')]).toEqual([200, 'b']);
  const other = definition('Known', `${NEW_RULE} && self.includes(1)`);
  const changed = {
    ...kept.body,
    spec: { ...(kept.body['spec'] as JsonObject), versions: (other['spec'] as JsonObject)['versions']! },
  };
  expect((await send(client, 'PUT', name, changed)).status).toBe(422);
});

const POLICIES = '/apis/admissionregistration.k8s.io/v1/mutatingadmissionpolicies';

test('does not serve newer types, and warns about deprecated ones', async () => {
  const client = await restart('--emulated-version=1.35');
  expect((await client.send({ path: POLICIES })).status).toBe(404);
  const listed = treeOf(await client.send({ path: '/apis/admissionregistration.k8s.io/v1' }));
  const names = (listed['resources'] as JsonObject[]).map(({ name }) => name);
  expect(names).toContain('validatingadmissionpolicies');
  expect(names).not.toContain('mutatingadmissionpolicies');
  const endpoints = await client.send({ path: '/api/v1/namespaces/default/endpoints' });
  expect(endpoints.headers['warning']).toBe(
    '299 - "v1 Endpoints is deprecated in v1.33+; use discovery.k8s.io/v1 EndpointSlice"',
  );
  const metrics = (await client.send({ path: '/metrics' })).text;
  expect(metrics).toContain(
    'apiserver_requested_deprecated_apis{group="",version="v1",resource="endpoints",subresource="",removed_release=""} 1',
  );
});

test('a newer type cannot be enabled', async () => {
  const dataDir = join(folder, 'refused');
  mkdirSync(dataDir, { recursive: true });
  const key = '--runtime-config=admissionregistration.k8s.io/v1/mutatingadmissionpolicies';
  const exit = await run(['serve', '--data-dir', dataDir, '--secure-port', '0', '--emulated-version=1.35', key]);
  expect([exit.code, exit.stderr]).toEqual([
    1,
    expect.stringContaining(
      'cannot enable resource admissionregistration.k8s.io/v1, Resource=mutatingadmissionpolicies in runtime-config because it is introduced at 1.36 after the current version 1.35. Consider setting --runtime-config-emulation-forward-compatible=true',
    ),
  ]);
});

test.each([
  ['--runtime-config-emulation-forward-compatible', '/v1/mutatingadmissionpolicies', 200, 404],
  ['--emulation-forward-compatible', '/v1beta1', 200, 200],
  ['--emulation-forward-compatible', '/v1alpha1', 404, 404],
])('unless %s is set with --runtime-config=admissionregistration.k8s.io%s', async (flag, key, later, earlier) => {
  const client = await restart('--emulated-version=1.35', flag, `--runtime-config=admissionregistration.k8s.io${key}`);
  const status = async (path: string): Promise<number> => (await client.send({ path })).status;
  expect([await status(POLICIES), await status(POLICIES.replace('v1', 'v1beta1'))]).toEqual([later, earlier]);
  const listed = treeOf(await client.send({ path: '/apis/admissionregistration.k8s.io/v1' }));
  const names = (listed['resources'] as JsonObject[]).map(({ name }) => name);
  expect(names.includes('mutatingadmissionpolicies')).toBe(later === 200);
});

test('emulates an older version', async () => {
  const dataDir = join(folder, 'refused');
  mkdirSync(dataDir, { recursive: true });
  const flags = ['--emulation-forward-compatible', '--runtime-config-emulation-forward-compatible'];
  const { code, stderr } = await run(['serve', '--data-dir', dataDir, '--secure-port', '0', ...flags]);
  const because = 'cannot be set to true if the emulation version is the same as the binary version';
  expect([code, stderr]).toEqual([
    1,
    expect.stringContaining(
      `[ServerRunOptions.EmulationForwardCompatible ${because}, ServerRunOptions.RuntimeConfigEmulationForwardCompatible ${because}]`,
    ),
  ]);
});

/** The messages are those of kube-apiserver. */
test.each([
  ['1.38', [], 'emulation version 1.38 is not between [1.34, 1.37.0]'],
  ['1.35.1', [], 'patch version not allowed, got: kube=1.35.1'],
  ['foo=1.35', [], 'component not registered: foo'],
  [
    '1.34',
    ['--feature-gates=ConstrainedImpersonation=true'],
    'cannot set feature gate ConstrainedImpersonation to true, feature is PreAlpha at emulated version 1.34, min compatibility version 1.34',
  ],
  ['1.34', ['--min-compatibility-version=1.35'], 'minCompatibilityVersion version 1.35 is not between [1.34, 1.34]'],
])('--emulated-version=%s %s is refused', async (version, more, message) => {
  const dataDir = join(folder, 'refused');
  mkdirSync(dataDir, { recursive: true });
  const exit = await run([
    'serve',
    '--data-dir',
    dataDir,
    '--secure-port',
    '0',
    `--emulated-version=${version}`,
    ...more,
  ]);
  expect(exit.code).toBe(1);
  expect(exit.stderr).toContain(message);
});
