import { eventually, NOBODY } from '../../integration/server.js';
import type { Pair } from '../certificates.js';
import type { TestCluster } from '../cluster.js';
import { directly as ask, metricOf, type Seen } from '../directly.js';
import { GROUP, widgetText } from '../widgets.js';

const PATH = `/apis/${GROUP}/v1/namespaces/access/widgets`;

/** Authorization by the cluster's RBAC, in kube-apiserver and in Annex. */
export function access(cluster: TestCluster): void {
  const kubectl = (...args: string[]): Promise<string> => cluster.kubectl.ok(args);
  const denied = (verb: string, user: string, name = ''): string =>
    `widgets.${GROUP}${name === '' ? '' : ` "${name}"`} is forbidden: User "${user}" cannot ${verb} resource "widgets" in API group "${GROUP}" in the namespace "access"`;

  const directly = (headers: Readonly<Record<string, string>>, pair?: Pair): Promise<Seen> =>
    ask({ port: cluster.replica(0).port, path: PATH, headers, pair });
  const metric = (name: string): Promise<number> => metricOf(cluster, name);

  describe('access', () => {
    beforeAll(async () => {
      await kubectl('create', 'namespace', 'access');
      await cluster.kubectl.ok(['apply', '-n', 'access', '-f', '-'], {
        stdin: widgetText('one', { colour: 'red' }),
      });
    });

    test('a user without permissions gets a 403 that names the user', async () => {
      const said = await cluster.kubectl.fails(['get', `widgets.${GROUP}`, '-n', 'access', '--as', 'bob']);
      expect(said).toBe(`Error from server (Forbidden): ${denied('list', 'bob')}\n`);
      expect(
        await cluster.kubectl.fails(['delete', `widgets.${GROUP}`, 'one', '-n', 'access', '--as', 'bob']),
      ).toContain(denied('delete', 'bob', 'one'));
    });

    test('a role lets a group read and not write', async () => {
      await kubectl('create', 'role', 'read', '-n', 'access', '--verb=get,list,watch', `--resource=widgets.${GROUP}`);
      await kubectl('create', 'rolebinding', 'read', '-n', 'access', '--role=read', '--group=watchers');
      const as = ['-n', 'access', '--as', 'bob', '--as-group', 'watchers'];
      await eventually('the role counts', async () =>
        (await cluster.kubectl.run(['get', `widgets.${GROUP}`, ...as])).code === 0 ? true : undefined,
      );
      expect(await kubectl('get', `widgets.${GROUP}`, '-o', 'name', ...as)).toBe(`widget.${GROUP}/one\n`);
      const patch = ['patch', `widgets.${GROUP}`, 'one', '--type=merge', '-p', '{"spec":{"replicas":2}}'];
      expect(await cluster.kubectl.fails([...patch, ...as])).toContain(denied('patch', 'bob', 'one'));
    });

    test('only administrators may change definitions', async () => {
      const said = await cluster.kubectl.fails(['delete', 'rd', `widgets.${GROUP}`, '--as', 'bob']);
      expect(said).toContain(`User "bob" cannot delete resource "resourcedefinitions" in API group "kubeannex.io"`);
    });

    test('front proxy headers without its certificate are ignored and counted', async () => {
      const before = await metric('annex_untrusted_request_headers_total');
      const forged = { 'X-Remote-User': 'admin', 'X-Remote-Group': 'system:masters' };
      expect(await directly(forged)).toEqual({ status: 403, message: denied('list', 'system:anonymous') });
      // With a client certificate of the cluster, its user counts, not the headers.
      const carol = cluster.certificates.client('carol');
      expect(await directly(forged, carol)).toEqual({ status: 403, message: denied('list', 'carol') });
      expect(await metric('annex_untrusted_request_headers_total')).toBe(before + 2);
    });

    test('rejects a front proxy CA certificate with another name', async () => {
      const forged = { 'X-Remote-User': 'admin', 'X-Remote-Group': 'system:masters' };
      expect(await directly(forged, cluster.certificates.proxy('somebody'))).toMatchObject({ status: 401 });
    });

    test('trusts the front proxy, and its user has only the permissions of RBAC', async () => {
      const proxy = cluster.certificates.proxy('front-proxy-client');
      expect(await directly({ 'X-Remote-User': 'dave' }, proxy)).toEqual({
        status: 403,
        message: denied('list', 'dave'),
      });
      const watcher = { 'X-Remote-User': 'dave', 'X-Remote-Group': 'watchers' };
      expect(await directly(watcher, proxy)).toMatchObject({ status: 200 });
    });

    test('the cluster authenticates tokens', async () => {
      const before = await metric('apiserver_delegated_authn_request_total');
      expect(await directly({ authorization: `Bearer ${NOBODY}` })).toEqual({
        status: 403,
        message: denied('list', 'jane'),
      });
      expect(await directly({ authorization: 'Bearer nonsense' })).toEqual({ status: 401, message: 'Unauthorized' });
      expect(await directly({ authorization: `Bearer ${NOBODY}` })).toMatchObject({ status: 403 });
      // The second request with the same token was answered from the cache.
      expect(await metric('apiserver_delegated_authn_request_total')).toBe(before + 2);
      expect(await metric('apiserver_delegated_authz_request_total')).toBeGreaterThan(0);
    });

    test('health checks are open to everyone', async () => {
      for (const path of ['/healthz', '/livez', '/readyz']) {
        expect((await cluster.direct(1).send({ path, token: '' })).status).toBe(200);
      }
    });
  });
}
