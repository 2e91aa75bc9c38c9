import { dig, digText, Http1, treeOf } from './client.js';
import { definition } from './objects.js';
import { eventually, serverForFile } from './server.js';

const server = serverForFile();
const MAPS = '/api/v1/namespaces/default/configmaps';

interface Owner {
  readonly apiVersion: string;
  readonly kind: string;
  readonly name: string;
  readonly uid: string;
  readonly blockOwnerDeletion?: boolean;
}

let http: Http1;
beforeAll(() => {
  http = new Http1(server.current);
});

/** Creates a ConfigMap and returns an owner reference to it that blocks the owner's deletion. */
async function map(name: string, owners: readonly Owner[] = [], finalizers: readonly string[] = []): Promise<Owner> {
  const metadata = { name, ownerReferences: owners, finalizers };
  const answer = await http.post(MAPS, { apiVersion: 'v1', kind: 'ConfigMap', metadata });
  expect(answer.status).toBe(201);
  const uid = digText(treeOf(answer), 'metadata', 'uid');
  return { apiVersion: 'v1', kind: 'ConfigMap', name, uid, blockOwnerDeletion: true };
}

async function patch(name: string, metadata: object): Promise<void> {
  const headers = { 'content-type': 'application/merge-patch+json' };
  const answer = await http.send({ method: 'PATCH', path: `${MAPS}/${name}`, body: { metadata }, headers });
  expect(answer.status).toBe(200);
}

async function removeInForeground(name: string): Promise<void> {
  const answer = await http.send({ method: 'DELETE', path: `${MAPS}/${name}?propagationPolicy=Foreground` });
  expect(answer.status).toBe(200);
}

const isThere = async (name: string): Promise<boolean> => (await http.get(`${MAPS}/${name}`)).status === 200;
const gone = (name: string): Promise<true> =>
  eventually(`${name} is gone`, async () => ((await isThere(name)) ? undefined : true));
const ownersOf = async (name: string) => dig(treeOf(await http.get(`${MAPS}/${name}`)), 'metadata', 'ownerReferences');

test('owners in a reference cycle are deleted', async () => {
  const first = await map('circle-1');
  const second = await map('circle-2', [first]);
  const third = await map('circle-3', [second]);
  await patch('circle-1', { ownerReferences: [third] });
  await removeInForeground('circle-1');
  for (const { name } of [first, second, third]) await gone(name);
});

test('an owner stops waiting for a dependent that has another owner', async () => {
  const [going, staying] = [await map('going'), await map('staying')];
  await map('kept', [going, staying]);
  await removeInForeground('going');
  await gone('going');
  expect(await ownersOf('kept')).toEqual([staying]);
});

test.each([
  ['has released it', (): Owner[] => []],
  ['no longer blocks it', (owner: Owner): Owner[] => [{ ...owner, blockOwnerDeletion: false }]],
])('an owner stops waiting for a dependent that %s', async (what, after) => {
  const name = `owner-${what.length}`;
  const owner = await map(name);
  const dependent = `dependent-${what.length}`;
  await map(dependent, [owner], ['example.com/held']);
  await removeInForeground(name);
  await eventually('the dependent is being deleted', async () =>
    digText(treeOf(await http.get(`${MAPS}/${dependent}`)), 'metadata', 'deletionTimestamp') === '' ? undefined : true,
  );
  expect(await isThere(name)).toBe(true);
  await patch(dependent, { ownerReferences: after(owner) });
  await gone(name);
  expect(await isThere(dependent)).toBe(true);
  await patch(dependent, { finalizers: null });
  await gone(dependent);
});

test('a dependent whose owner has an unserved type is kept until that type is served', async () => {
  const unknown = { apiVersion: 'later.example.com/v1', kind: 'Later', name: 'none', uid: 'none' };
  const absent = { apiVersion: 'v1', kind: 'ConfigMap', name: 'none', uid: 'none' };
  await map('of-later', [unknown]);
  await map('of-both', [unknown, absent]);
  await map('of-nobody', [absent]);
  await gone('of-nobody');
  expect(await isThere('of-later')).toBe(true);
  expect(await ownersOf('of-both')).toEqual([unknown, absent]);
  const path = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions';
  expect((await http.post(path, definition('later.example.com', 'laters', 'Later'))).status).toBe(201);
  await gone('of-later');
  await gone('of-both');
});
