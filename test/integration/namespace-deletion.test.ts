import { digText, Http1, treeOf } from './client.js';
import { eventually, scratchFolder, TestServer } from './server.js';

const API = 'admissionregistration.k8s.io/v1';
const CONTROLLER = 'system:serviceaccount:kube-system:namespace-controller';

const folder = scratchFolder(async () => server?.stop('SIGKILL'));
let server: TestServer | undefined;

test('the namespace controller deletes the contents of a namespace as collections', async () => {
  server = await TestServer.start(folder, ['--use-service-account-credentials=true']);
  const client = new Http1(server);
  const post = async (path: string, body: object): Promise<number> =>
    (await client.send({ method: 'POST', path, body: JSON.stringify(body) })).status;
  const validations = [
    { expression: `request.?name.orValue('') == '' && request.userInfo.username == '${CONTROLLER}'`, message: 'kept' },
  ];
  const rule = { apiGroups: [''], apiVersions: ['v1'], operations: ['DELETE'], resources: ['configmaps'] };
  const spec = { matchConstraints: { resourceRules: [rule] }, validations };
  const metadata = { name: 'keep' };
  expect(
    await post(`/apis/${API}/validatingadmissionpolicies`, {
      apiVersion: API,
      kind: 'ValidatingAdmissionPolicy',
      metadata,
      spec,
    }),
  ).toBe(201);
  expect(
    await post(`/apis/${API}/validatingadmissionpolicybindings`, {
      apiVersion: API,
      kind: 'ValidatingAdmissionPolicyBinding',
      metadata,
      spec: { policyName: 'keep', validationActions: ['Deny'] },
    }),
  ).toBe(201);
  expect(await post('/api/v1/namespaces', { metadata: { name: 'going' } })).toBe(201);
  const configMaps = '/api/v1/namespaces/going/configmaps';
  const remove = (path: string): ReturnType<Http1['send']> => client.send({ method: 'DELETE', path });
  await eventually('the policy holds', async () => {
    await post(configMaps, { metadata: { name: 'a' } });
    const { status, text } = await remove(`${configMaps}/a`);
    return status === 422 && digText(treeOf({ text }), 'message').endsWith('kept') ? true : undefined;
  });
  expect((await remove(configMaps)).status).toBe(422);
  expect((await remove('/api/v1/namespaces/going')).status).toBe(200);
  await eventually('the namespace is gone', async () =>
    (await client.send({ path: '/api/v1/namespaces/going' })).status === 404 ? true : undefined,
  );
});
