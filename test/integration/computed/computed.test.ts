import { readFileSync, writeFileSync } from 'node:fs';
import type { IncomingMessage } from 'node:http';
import { join } from 'node:path';
import type { JsonObject } from '../../../src/apimachinery/json/json.js';
import { type StandaloneServer, startStandalone } from '../../../src/server/compose/standalone.js';
import { defaultOptions } from '../../../src/server/options/options.js';
import { systemClock } from '../../../src/util/clock.js';
import { silentLogger } from '../../../src/util/logger.js';
import { dig, digList, digText, Http1, treeOf } from '../client.js';
import { ADMIN, eventually, NOBODY, ROOT, scratchFolder, START_MILLIS } from '../server.js';
import { atLeast } from './at-least.js';
import { Planets } from './planets.js';

const PLANETS = '/apis/astronomy.example.com/v1/planets';
const MAPS = '/api/v1/namespaces/default/configmaps';
const TABLE = { accept: 'application/json;as=Table;g=meta.k8s.io;v=v1' };

const planets = new Planets();
let server: StandaloneServer;
let http: Http1;
const folder = scratchFolder(() => server.stop());

beforeAll(async () => {
  planets.discover('venus', 0);
  planets.discover('mars', 2);
  const tokenAuthFile = join(folder, 'tokens.csv');
  writeFileSync(tokenAuthFile, `${ADMIN},admin,admin,system:masters\n${NOBODY},jane,jane\n`);
  const options = {
    ...defaultOptions(),
    dataDir: join(folder, 'data'),
    bindAddress: '127.0.0.1',
    securePort: 0,
    shutdownDelayDuration: 0,
    tokenAuthFile,
  };
  const extensions = { kinds: [planets.kind], listParameters: [atLeast] };
  server = await startStandalone(options, ROOT, systemClock, silentLogger, extensions);
  http = new Http1({ url: server.url, ca: readFileSync(join(options.dataDir, 'ca.crt'), 'utf8') });
}, START_MILLIS);

const namesOf = async (path: string): Promise<unknown[]> =>
  digList(treeOf(await http.send({ path })), 'items').map((item) => dig(item, 'metadata', 'name'));

/** Opens a watch, and returns a function that waits for its next event. */
async function watch(path: string, headers = {}): Promise<{ next(): Promise<JsonObject>; end(): void }> {
  const response: IncomingMessage = await http.open({ path, headers });
  let text = '';
  response.setEncoding('utf8').on('data', (chunk: string) => (text += chunk));
  return {
    async next() {
      await eventually('an event', () => Promise.resolve(text.includes('\n') || undefined));
      const at = text.indexOf('\n');
      const line = text.slice(0, at);
      text = text.slice(at + 1);
      return JSON.parse(line) as JsonObject;
    },
    end: () => void response.destroy(),
  };
}

describe('a computed kind of 80 lines', () => {
  test('is at most 80 lines long', () => {
    expect(readFileSync(join(__dirname, 'planets.ts'), 'utf8').split('\n').length - 1).toBeLessThanOrEqual(80);
  });

  test('is read by get and list, with selectors', async () => {
    const mars = treeOf(await http.send({ path: `${PLANETS}/mars` }));
    expect(mars).toMatchObject({ apiVersion: 'astronomy.example.com/v1', kind: 'Planet', moons: 2 });
    expect((await http.send({ path: `${PLANETS}/vulcan` })).status).toBe(404);
    const list = treeOf(await http.send({ path: PLANETS }));
    expect(list).toMatchObject({ kind: 'PlanetList', metadata: { resourceVersion: '3' } });
    expect(digList(list, 'items')).toHaveLength(2);
    expect(await namesOf(`${PLANETS}?labelSelector=moons%3Dyes`)).toEqual(['mars']);
    expect(await namesOf(`${PLANETS}?fieldSelector=metadata.name%3Dvenus`)).toEqual(['venus']);
  });

  test('is shown as a table', async () => {
    for (const path of [PLANETS, `${PLANETS}/mars`]) {
      const table = treeOf(await http.send({ path, headers: TABLE }));
      expect(digList(table, 'columnDefinitions').map((shown) => dig(shown, 'name'))).toEqual(['Name', 'Moons']);
      expect(digList(table, 'rows').map((row) => dig(row, 'cells'))).toContainEqual(['mars', 2]);
    }
  });

  test('is watched', async () => {
    const open = await watch(`${PLANETS}?watch=1&labelSelector=moons%3Dyes`);
    expect(await open.next()).toMatchObject({ type: 'ADDED', object: { metadata: { name: 'mars' } } });
    planets.discover('mercury', 0);
    planets.discover('jupiter', 95);
    expect(await open.next()).toMatchObject({ type: 'ADDED', object: { kind: 'Planet', moons: 95 } });
    open.end();
  });

  test('is discovered with the verbs that it has, and refuses others', async () => {
    const found = treeOf(await http.send({ path: '/apis/astronomy.example.com/v1' }));
    expect(found['resources']).toEqual([
      { name: 'planets', singularName: 'planet', namespaced: false, kind: 'Planet', verbs: ['get', 'list', 'watch'] },
    ]);
    for (const method of ['POST', 'PUT', 'PATCH', 'DELETE']) {
      expect([method, (await http.send({ method, path: PLANETS, body: {} })).status]).toEqual([method, 405]);
    }
    expect((await http.send({ path: `${PLANETS}/mars/status` })).status).toBe(404);
  });

  test('is described by OpenAPI', async () => {
    const v3 = treeOf(await http.send({ path: '/openapi/v3/apis/astronomy.example.com/v1' }));
    expect(dig(v3, 'components', 'schemas', 'com.example.astronomy.v1.Planet')).toMatchObject({
      description: 'A planet.',
      properties: { moons: { type: 'integer' } },
    });
    expect(Object.keys(dig(v3, 'paths', PLANETS) as JsonObject)).not.toContain('post');
    expect(Object.keys(dig(v3, 'paths', `${PLANETS}/{name}`) as JsonObject)).toContain('get');
  });

  test('is guarded by RBAC', async () => {
    const rbac = '/apis/rbac.authorization.k8s.io/v1';
    const asJane = async (): Promise<number> => (await http.send({ path: PLANETS, token: NOBODY })).status;
    expect(await asJane()).toBe(403);
    const rules = [{ apiGroups: ['astronomy.example.com'], resources: ['planets'], verbs: ['list'] }];
    const metadata = { name: 'astronomer' };
    await http.send({ method: 'POST', path: `${rbac}/clusterroles`, body: { metadata, rules } });
    const roleRef = { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'astronomer' };
    const subjects = [{ apiGroup: 'rbac.authorization.k8s.io', kind: 'User', name: 'jane' }];
    await http.send({ method: 'POST', path: `${rbac}/clusterrolebindings`, body: { metadata, roleRef, subjects } });
    await eventually('the role', async () => (await asJane()) === 200 || undefined);
    expect((await http.send({ path: `${PLANETS}/mars`, token: NOBODY })).status).toBe(403);
  });
});

describe('a list parameter of two files', () => {
  const configMap = (name: string, size: string): object => ({ metadata: { name }, data: { size } });

  beforeAll(async () => {
    for (const [name, size] of [
      ['a', '1'],
      ['b', '5'],
      ['c', '9'],
    ] as const)
      await http.send({ method: 'POST', path: MAPS, body: configMap(name, size) });
  });

  test('selects in lists, pages of lists, and with the selectors', async () => {
    expect(await namesOf(`${MAPS}?atLeast=size:5`)).toEqual(['b', 'c']);
    expect(await namesOf(`${MAPS}?atLeast=size:5&fieldSelector=metadata.name%3Dc`)).toEqual(['c']);
    const page = treeOf(await http.send({ path: `${MAPS}?atLeast=size:5&limit=1` }));
    expect(digList(page, 'items').map((item) => dig(item, 'metadata', 'name'))).toEqual(['b']);
    const next = encodeURIComponent(digText(page, 'metadata', 'continue'));
    expect(await namesOf(`${MAPS}?atLeast=size:5&continue=${next}`)).toEqual(['c']);
    expect(await namesOf(`${PLANETS}?atLeast=moons:2`)).toContain('mars');
    expect(await namesOf(`${PLANETS}?atLeast=moons:2`)).not.toContain('venus');
  });

  test('selects in watches, which see objects enter and leave', async () => {
    const open = await watch(`${MAPS}?watch=1&atLeast=size:6`);
    expect(await open.next()).toMatchObject({ type: 'ADDED', object: { metadata: { name: 'c' } } });
    for (const size of ['7', '8', '2'])
      await http.send({ method: 'PUT', path: `${MAPS}/b`, body: configMap('b', size) });
    const seen = [await open.next(), await open.next(), await open.next()];
    expect(seen.map(({ type }) => type)).toEqual(['ADDED', 'MODIFIED', 'DELETED']);
    open.end();
  });

  test('is refused if it means nothing', async () => {
    const answer = await http.send({ path: `${MAPS}?atLeast=many` });
    expect([answer.status, treeOf(answer)['message']]).toEqual([400, 'atLeast: "many" is not field:number']);
  });
});
