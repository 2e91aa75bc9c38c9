import { randomBytes } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { plant } from '../../secrecy/leaks.js';
import { digText, Http1, treeOf } from '../client.js';
import { eventually, NOBODY, scratchFolder, TestServer } from '../server.js';

const RBAC = '/apis/rbac.authorization.k8s.io/v1';
const MAP = '/api/v1/namespaces/default/configmaps/any';
const FORCE = '?ignoreStoreReadErrorWithClusterBreakingPotential=true';

interface Key {
  readonly name: string;
  readonly secret: string;
}
const newKey = (name: string): Key => ({ name, secret: plant(randomBytes(32).toString('base64')) });

/** Roles and the server's own objects are encrypted. A server with other keys still starts, and reports what is missing. */
describe('rules that cannot be decrypted', () => {
  let server: TestServer | undefined;
  let http: Http1;
  const folder = scratchFolder(async () => server?.stop('SIGKILL'));
  const file = join(folder, 'encryption.json');

  const start = async (...keys: Key[]): Promise<TestServer> => {
    await server?.stop('SIGKILL');
    const providers = [{ secretbox: { keys } }, { identity: {} }];
    const resources = ['roles.rbac.authorization.k8s.io', 'clusterroles.rbac.authorization.k8s.io', '*.kubeannex.io'];
    const configuration = {
      apiVersion: 'apiserver.config.k8s.io/v1',
      kind: 'EncryptionConfiguration',
      resources: [{ resources, providers }],
    };
    writeFileSync(file, JSON.stringify(configuration));
    const gate = '--feature-gates=AllowUnsafeMalformedObjectDeletion=true';
    server = await TestServer.start(folder, ['--encryption-provider-config', file, gate]);
    http = new Http1(server);
    await eventually('it is ready', async () => ((await http.get('/readyz')).status === 200 ? true : undefined));
    return server;
  };
  const asJane = async (): Promise<number> =>
    (await http.send({ method: 'GET', path: MAP, headers: { authorization: `Bearer ${NOBODY}` } })).status;
  const shown = async (metric: string): Promise<number> => {
    const line = new RegExp(`^${metric}\\{group="rbac.authorization.k8s.io",resource="roles"\\} (\\d+)$`, 'm');
    return Number(line.exec((await http.get('/metrics')).text)?.[1] ?? 0);
  };

  test('do not apply, appear in the log and metrics, and can be deleted by an administrator', async () => {
    const [one, two] = [newKey('one'), newKey('two')];
    await start(one);
    const rules = [{ verbs: ['get'], apiGroups: [''], resources: ['configmaps'] }];
    const role = await http.post(`${RBAC}/namespaces/default/roles`, {
      metadata: { name: 'reader', finalizers: ['example.com/hold'] },
      rules,
    });
    const binding = await http.post(`${RBAC}/namespaces/default/rolebindings`, {
      metadata: { name: 'reader' },
      roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'Role', name: 'reader' },
      subjects: [{ kind: 'User', name: 'jane', apiGroup: 'rbac.authorization.k8s.io' }],
    });
    expect([role.status, binding.status, await asJane()]).toEqual([201, 201, 404]);
    expect(await shown('annex_undecodable_objects')).toBe(0);

    const { log } = await start(two);
    expect(await asJane()).toBe(403);
    expect(await shown('annex_undecodable_objects')).toBeGreaterThan(1);
    expect(await shown('apiserver_storage_decode_errors_total')).toBeGreaterThan(1);
    const lines = log.split('\n').filter((line) => line.includes('cannot read stored objects'));
    expect(lines.map((line) => digText(treeOf({ text: line }), 'resource')).sort()).toEqual([
      'clusterroles.rbac.authorization.k8s.io',
      'roles.rbac.authorization.k8s.io',
    ]);

    for (const path of ['clusterroles/view', 'namespaces/default/roles/reader']) {
      expect((await http.get(`${RBAC}/${path}`)).status).toBe(500);
      expect((await http.send({ method: 'DELETE', path: `${RBAC}/${path}${FORCE}` })).status).toBe(200);
      // The finalizer of the role is as unreadable as the rest of it.
      expect((await http.get(`${RBAC}/${path}`)).status).toBe(404);
    }
    // The next start restores the default roles. The remaining ones are readable again once their key is back.
    await start(two, one);
    expect((await http.get(`${RBAC}/clusterroles/view`)).status).toBe(200);
    expect((await http.get(`${RBAC}/clusterroles/admin`)).status).toBe(200);
    expect(await asJane()).toBe(403);
    expect(await shown('annex_undecodable_objects')).toBe(0);
  });
});
