import { type JsonObject, objectAt, textAt } from '../../../src/apimachinery/json/json.js';
import { dig, digList, digText, treeOf } from '../client.js';
import { eventually, NOBODY } from '../server.js';
import { created, GROUP, pathOf, shortly, UndoStand, WIDGET_TYPE, WIDGETS } from './stand.js';

const KUBEANNEX = '/apis/kubeannex.io/v1alpha1';
const RBAC = '/apis/rbac.authorization.k8s.io/v1';
const OF_WIDGETS = `object.resource=widgets.${GROUP}`;

describe('undo', () => {
  const stand = new UndoStand('embedded');

  beforeAll(() => stand.define());

  describe('revisions', () => {
    beforeAll(async () => {
      await stand.widget('n1', 'a', { size: 1 }, { labels: { team: 'red' } });
      await stand.patched(pathOf('n1', 'a'), { spec: { size: 2, note: 'x' } });
      await stand.widget('n2', 'b', { size: 3 });
      await stand.remove(pathOf('n1', 'a'));
    });

    const ofA = { fieldSelector: `${OF_WIDGETS},object.name=a` };

    test('of an object are listed oldest first, with what they changed', async () => {
      const found = await stand.revisions('namespaces/n1/objectrevisions', ofA);
      expect(found.map(shortly)).toEqual(['Create a', 'Update a .spec.note .spec.size', 'Delete a']);
      expect(found[0]).toMatchObject({
        kind: 'ObjectRevision',
        metadata: { namespace: 'n1', labels: { team: 'red' } },
        object: { group: GROUP, resource: 'widgets', kind: 'Widget', namespace: 'n1', name: 'a' },
      });
      expect(found.every((revision) => revision['content'] === undefined)).toBe(true);
    });

    test('name who wrote, and how', async () => {
      const [found] = await stand.revisions('namespaces/n1/objectrevisions', ofA);
      expect(found).toMatchObject({ by: { user: 'admin' } });
      expect(dig(found, 'by', 'auditID')).toMatch(/^[0-9a-f-]{36}$/);
    });

    test('have the whole object when they are got, by a name that stays', async () => {
      const found = await stand.revisions('namespaces/n1/objectrevisions', ofA);
      for (const [i, size] of [1, 2, 2].entries()) {
        const name = digText(found[i], 'metadata', 'name');
        const one = created(await stand.http.get(`${KUBEANNEX}/namespaces/n1/objectrevisions/${name}`));
        expect(one).toMatchObject({ content: { kind: 'Widget', spec: { size } }, metadata: { name } });
      }
      expect((await stand.http.get(`${KUBEANNEX}/namespaces/n1/objectrevisions/1-0123456789`)).status).toBe(404);
      expect((await stand.http.get(`${KUBEANNEX}/namespaces/n1/objectrevisions/nonsense`)).status).toBe(404);
    });

    test('are selected by fields, labels of the object, and expressions', async () => {
      const names = async (path: string, query: Record<string, string>): Promise<string[]> =>
        (await stand.revisions(path, query)).map((one) => shortly(one).split(' ').slice(0, 2).join(' '));
      expect(await names('objectrevisions', { fieldSelector: `${OF_WIDGETS},operation=Create` })).toEqual([
        'Create a',
        'Create b',
      ]);
      expect(await names('objectrevisions', { fieldSelector: OF_WIDGETS, labelSelector: 'team=red' })).toHaveLength(3);
      const where = `object.operation == 'Delete' && object.object.name == 'a'`;
      expect(await names('objectrevisions', { fieldSelector: OF_WIDGETS, where })).toEqual(['Delete a']);
      const orderBy = 'object.object.name desc, object.operation';
      expect(await names('objectrevisions', { fieldSelector: OF_WIDGETS, orderBy })).toEqual([
        'Create b',
        'Create a',
        'Delete a',
        'Update a',
      ]);
      expect(
        await names('clusterobjectrevisions', { fieldSelector: 'object.name=n1,object.resource=namespaces' }),
      ).toEqual(['Create n1']);
      const bad = await stand.http.get(`${KUBEANNEX}/objectrevisions?fieldSelector=object.kind%3DWidget`);
      expect(bad.status).toBe(400);
    });

    test('are listed in pages', async () => {
      for (const more of [{}, { orderBy: 'object.object.name desc' }, { where: 'object.operation != "Update"' }]) {
        const whole = await stand.revisions('objectrevisions', { fieldSelector: OF_WIDGETS, ...more });
        const paged: string[] = [];
        let token = '';
        do {
          const query = new URLSearchParams({ fieldSelector: OF_WIDGETS, limit: '2', ...more, continue: token });
          const page = created(await stand.http.get(`${KUBEANNEX}/objectrevisions?${query.toString()}`));
          paged.push(...digList(page, 'items').map((one) => digText(one, 'metadata', 'name')));
          token = textAt(objectAt(page, 'metadata'), 'continue');
        } while (token !== '');
        expect(paged).toEqual(whole.map((one) => digText(one, 'metadata', 'name')));
      }
    });

    test('are shown as a table', async () => {
      const headers = { accept: 'application/json;as=Table;g=meta.k8s.io;v=v1' };
      const table = treeOf(
        await stand.http.get(`${KUBEANNEX}/namespaces/n1/objectrevisions?fieldSelector=${OF_WIDGETS}`, headers),
      );
      const columns = digList(table, 'columnDefinitions').map((one) => dig(one, 'name'));
      expect(columns).toEqual(
        expect.arrayContaining(['Resource', 'Object', 'Operation', 'Revision', 'Changed Fields']),
      );
      expect(digList(table, 'rows')).toHaveLength(3);
    });

    test('are watched', async () => {
      const list = created(await stand.http.get(`${KUBEANNEX}/objectrevisions?limit=1`));
      const from = digText(list, 'metadata', 'resourceVersion');
      const open = await stand.http.open({
        path: `${KUBEANNEX}/namespaces/n2/objectrevisions?watch=1&resourceVersion=${from}`,
      });
      let text = '';
      open.setEncoding('utf8').on('data', (chunk: string) => (text += chunk));
      await stand.patched(pathOf('n2', 'b'), { spec: { size: 4 } });
      await eventually('the revision', () => Promise.resolve(text.includes('.spec.size') || undefined));
      open.destroy();
    });

    test('are seen by those who may get revisions and the object', async () => {
      const as = async (): Promise<readonly string[] | number> => {
        const answer = await stand.http.send({ path: `${KUBEANNEX}/objectrevisions`, token: NOBODY });
        if (answer.status !== 200) return answer.status;
        return [...new Set(digList(treeOf(answer), 'items').map((one) => digText(one, 'object', 'name')))];
      };
      expect(await as()).toBe(403);
      const grant = async (name: string, rules: readonly JsonObject[]): Promise<void> => {
        created(await stand.http.post(`${RBAC}/clusterroles`, { metadata: { name }, rules: [...rules] }));
        const roleRef = { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name };
        const subjects = [{ apiGroup: 'rbac.authorization.k8s.io', kind: 'User', name: 'jane' }];
        created(
          await stand.http.post(`${RBAC}/clusterrolebindings`, {
            metadata: { name: `jane-${name}` },
            roleRef,
            subjects,
          }),
        );
      };
      await grant('history', [{ apiGroups: ['kubeannex.io'], resources: ['objectrevisions'], verbs: ['get', 'list'] }]);
      await eventually('the right', async () => (await as()) !== 403 || undefined);
      expect(await as()).toEqual([]);
      await grant('one', [{ apiGroups: [GROUP], resources: ['widgets'], resourceNames: ['b'], verbs: ['get'] }]);
      await eventually('the right', async () => ((await as()) as string[]).length > 0 || undefined);
      expect(await as()).toEqual(['b']);
    });
  });

  describe('restores', () => {
    test('bring a deleted object back, with its status, as a new one', async () => {
      const old = await stand.widget('n1', 'back', { size: 5 }, { labels: { a: 'b' }, finalizers: [] });
      await stand.patched(`${pathOf('n1', 'back')}/status`, { status: { ready: true } });
      await stand.remove(pathOf('n1', 'back'));
      const status = await stand.restore({ resource: WIDGET_TYPE, namespace: 'n1', names: ['back'] });
      expect(status).toMatchObject({ phase: 'Complete', selected: 1, restored: 1, conflicts: 0, refused: 0 });
      const now = created(await stand.http.get(pathOf('n1', 'back')));
      expect(now).toMatchObject({ metadata: { labels: { a: 'b' } }, spec: { size: 5 }, status: { ready: true } });
      expect(dig(now, 'metadata', 'uid')).not.toBe(dig(old, 'metadata', 'uid'));
      const revisions = await stand.revisions('namespaces/n1/objectrevisions', {
        fieldSelector: 'object.name=back,operation=Create',
      });
      expect(revisions.map((one) => dig(one, 'by'))).toMatchObject([
        { user: 'admin' },
        { user: 'admin', manager: 'annex-restore' },
      ]);
    });

    test('undo an update, keep uid and name, and leave the unchanged', async () => {
      const first = await stand.widget('n1', 'undone', { size: 1 });
      await stand.patched(pathOf('n1', 'undone'), { spec: { size: 2 } });
      const revision = digText(first, 'metadata', 'resourceVersion');
      const spec = { resource: WIDGET_TYPE, namespace: 'n1', names: ['undone'], to: { revision } };
      expect(await stand.restore({ ...spec, dryRun: true })).toMatchObject({ selected: 1, restored: 1 });
      expect(created(await stand.http.get(pathOf('n1', 'undone')))).toMatchObject({ spec: { size: 2 } });
      expect(await stand.restore(spec)).toMatchObject({ phase: 'Complete', restored: 1 });
      const now = created(await stand.http.get(pathOf('n1', 'undone')));
      expect(now).toMatchObject({ spec: { size: 1 }, metadata: { uid: digText(first, 'metadata', 'uid') } });
      expect(await stand.restore(spec)).toMatchObject({ restored: 0, unchanged: 1 });
    });

    test('do not overwrite a newer object unless forced', async () => {
      await stand.widget('n1', 'taken', { size: 1 });
      await stand.remove(pathOf('n1', 'taken'));
      const newer = await stand.widget('n1', 'taken', { size: 2 });
      const spec = { resource: WIDGET_TYPE, namespace: 'n1', names: ['taken'] };
      expect(await stand.restore(spec)).toMatchObject({ phase: 'Complete', restored: 0, conflicts: 1 });
      expect(await stand.restore({ ...spec, force: true })).toMatchObject({ restored: 1, conflicts: 0 });
      const now = created(await stand.http.get(pathOf('n1', 'taken')));
      expect(now).toMatchObject({ spec: { size: 1 }, metadata: { uid: digText(newer, 'metadata', 'uid') } });
    });

    test('lead references to the new uids of owners, and leave out owners that are gone', async () => {
      const owner = await stand.widget('n2', 'owner', { size: 1 });
      const other = await stand.widget('n2', 'other', { size: 1 });
      const refer = (name: string, uid: string): JsonObject => ({
        apiVersion: `${GROUP}/v1`,
        kind: 'Widget',
        name,
        uid,
      });
      const finalizers = ['example.com/hold'];
      const ownerReferences = [
        refer('owner', digText(owner, 'metadata', 'uid')),
        refer('other', digText(other, 'metadata', 'uid')),
      ];
      await stand.widget('n2', 'dependent', { size: 1 }, { ownerReferences, finalizers });
      await stand.http.send({ method: 'DELETE', path: pathOf('n2', 'dependent') });
      await stand.patched(pathOf('n2', 'dependent'), { metadata: { finalizers: null } });
      for (const name of ['owner', 'other']) await stand.remove(pathOf('n2', name));
      const status = await stand.restore({ resource: WIDGET_TYPE, namespace: 'n2', names: ['dependent', 'owner'] });
      expect(status).toMatchObject({
        restored: 2,
        ownersLeftOut: [{ object: `widgets.${GROUP}/n2/dependent`, owner: 'Widget/other' }],
      });
      const uid = digText(created(await stand.http.get(pathOf('n2', 'owner'))), 'metadata', 'uid');
      const dependent = created(await stand.http.get(pathOf('n2', 'dependent')));
      expect(dig(dependent, 'metadata', 'ownerReferences')).toEqual([refer('owner', uid)]);
      expect(dig(dependent, 'metadata', 'finalizers')).toEqual(finalizers);
      await stand.patched(pathOf('n2', 'dependent'), { metadata: { finalizers: null } });
    });

    test('bring an object back elsewhere, under another name, without finalizers', async () => {
      await stand.widget('n1', 'moved', { size: 7 }, { finalizers: ['example.com/hold'] });
      await stand.http.send({ method: 'DELETE', path: pathOf('n1', 'moved') });
      await stand.patched(pathOf('n1', 'moved'), { metadata: { finalizers: null } });
      const spec = { resource: WIDGET_TYPE, namespace: 'n1', names: ['moved'], withoutFinalizers: true };
      await stand.restore({ ...spec, as: { namespace: 'n2', name: 'landed' } });
      const now = created(await stand.http.get(pathOf('n2', 'landed')));
      expect(now).toMatchObject({ spec: { size: 7 } });
      expect(dig(now, 'metadata', 'finalizers')).toBeUndefined();
    });

    test('select by labels, expressions and the time of the deletion, and group refusals', async () => {
      for (const [name, size] of [
        ['s1', 1],
        ['s2', 50],
        ['s3', 90],
      ] as const)
        await stand.widget('n1', name, { size }, { labels: { set: 's' } });
      await stand.http.send({ method: 'DELETE', path: `${pathOf('n1')}?labelSelector=set%3Ds` });
      const spec = { resource: WIDGET_TYPE, namespace: 'n1', labelSelector: { matchLabels: { set: 's' } } };
      expect(await stand.restore({ ...spec, where: 'object.spec.size > 60', dryRun: true })).toMatchObject({
        selected: 1,
      });
      const future = new Date(Date.now() + 3_600_000).toISOString().replace(/\.\d+/, '');
      expect(await stand.restore({ ...spec, deletedSince: future })).toMatchObject({ selected: 0 });
      expect(await stand.restore({ ...spec, where: 'object.spec.none' })).toMatchObject({
        phase: 'Failed',
        conditions: [{ type: 'Failed', reason: 'InvalidExpression' }],
      });
      const narrow = { ...SIZES, maximum: 60 };
      await redefine(stand, narrow);
      const status = await stand.restore(spec);
      expect(status).toMatchObject({ selected: 3, restored: 2, refused: 1 });
      expect(status['refusals']).toMatchObject([{ reason: 'Invalid', count: 1, example: `widgets.${GROUP}/n1/s3` }]);
      await redefine(stand, SIZES);
    });

    test('have the rights of their creator and no others', async () => {
      await stand.widget('n1', 'rights', { size: 1 });
      await stand.remove(pathOf('n1', 'rights'));
      const role = { metadata: { name: 'restorer' } };
      const rules = [{ apiGroups: ['kubeannex.io'], resources: ['objectrestores'], verbs: ['create'] }];
      created(await stand.http.post(`${RBAC}/clusterroles`, { ...role, rules }));
      const roleRef = { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'restorer' };
      const subjects = [{ apiGroup: 'rbac.authorization.k8s.io', kind: 'User', name: 'jane' }];
      created(await stand.http.post(`${RBAC}/clusterrolebindings`, { ...role, roleRef, subjects }));
      const createdBy = { username: 'admin', groups: ['system:masters'] };
      const spec = { resource: WIDGET_TYPE, namespace: 'n1', names: ['rights'], createdBy };
      const status = await eventually('the right', () => stand.restore(spec, NOBODY).catch(() => undefined));
      expect(status).toMatchObject({ phase: 'Complete', restored: 0, refused: 1, refusals: [{ reason: 'Forbidden' }] });
      expect((await stand.http.get(pathOf('n1', 'rights'))).status).toBe(404);
    });

    test('fail for a type that is not served', async () => {
      const status = await stand.restore({ resource: { group: 'nothing.example.com', resource: 'things' } });
      expect(status).toMatchObject({ phase: 'Failed', conditions: [{ reason: 'TypeNotServed' }] });
    });

    test('bring back a namespace with its contents', async () => {
      created(await stand.http.post('/api/v1/namespaces', { metadata: { name: 'lost' } }));
      for (const name of ['l1', 'l2']) await stand.widget('lost', name, { size: 1 });
      created(
        await stand.http.post('/api/v1/namespaces/lost/configmaps', { metadata: { name: 'm' }, data: { a: 'b' } }),
      );
      await stand.remove('/api/v1/namespaces/lost');
      const status = await stand.restore({ resource: { resource: 'namespaces' }, names: ['lost'], contents: true });
      expect(status).toMatchObject({ phase: 'Complete', conflicts: 0, refused: 0 });
      for (const path of [pathOf('lost', 'l1'), pathOf('lost', 'l2'), '/api/v1/namespaces/lost/configmaps/m'])
        expect((await stand.http.get(path)).status).toBe(200);
    });

    test('bring back a definition with its objects', async () => {
      const path = `/apis/apiextensions.k8s.io/v1/customresourcedefinitions/widgets.${GROUP}`;
      await stand.widget('n1', 'kept', { size: 3 });
      for (let i = 0; i < 10; i++) await stand.widget('n1', `kept-${String(i)}`, { size: 3 });
      await stand.widget('n1', 'earlier', { size: 3 });
      await stand.remove(pathOf('n1', 'earlier'));
      // Times of deletions have whole seconds.
      await new Promise((resolve) => setTimeout(resolve, 1_100));
      const before = digList(created(await stand.http.get(`/apis/${GROUP}/v1/widgets`)), 'items').length;
      const deleted = await stand.http.send({ method: 'DELETE', path });
      expect(deleted.headers['warning']).toContain(
        `deletes its ${String(before)} objects; for 168h0m0s, \\"kubectl annex undelete crd widgets.${GROUP}\\" brings all of it back`,
      );
      await eventually('the deletion', async () => (await stand.http.get(path)).status === 404 || undefined);
      const status = await stand.restore({
        resource: { group: 'apiextensions.k8s.io', resource: 'customresourcedefinitions' },
        names: [`widgets.${GROUP}`],
        contents: true,
      });
      expect(status).toMatchObject({ phase: 'Complete', restored: before + 1, refused: 0 });
      await stand.served();
      expect(digList(created(await stand.http.get(`/apis/${GROUP}/v1/widgets`)), 'items')).toHaveLength(before);
      expect((await stand.http.get(pathOf('n1', 'earlier'))).status).toBe(404);
    });
  });
});

const SIZES: JsonObject = { type: 'integer', maximum: 100 };

/** Changes the bounds of the sizes of Widgets. */
async function redefine(stand: UndoStand, size: JsonObject): Promise<void> {
  const path = `/apis/apiextensions.k8s.io/v1/customresourcedefinitions/widgets.${GROUP}`;
  const spec = structuredClone(WIDGETS['spec']) as JsonObject;
  const [version] = digList(spec, 'versions') as JsonObject[];
  const properties = dig(version, 'schema', 'openAPIV3Schema', 'properties', 'spec', 'properties') as JsonObject;
  properties['size'] = size;
  await stand.patched(path, { spec });
  const probe = { apiVersion: `${GROUP}/v1`, kind: 'Widget', metadata: { name: 'probe' }, spec: { size: 80 } };
  const wanted = Number(size['maximum']) >= 80 ? 201 : 422;
  await eventually('the rule', async () => {
    const answer = await stand.http.post(`${pathOf('n1')}?dryRun=All`, probe);
    return answer.status === wanted || undefined;
  });
}
