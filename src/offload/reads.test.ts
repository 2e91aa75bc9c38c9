import { IncomingMessage } from 'node:http';
import { Socket } from 'node:net';
import { Query } from '../endpoints/handlers/request/query.js';
import { negotiateList, negotiateObject, writeListResult, writeCachedObject } from '../endpoints/handlers/respond.js';
import { describe as describe_, isLargeGroupVersion } from '../endpoints/openapi/parts.js';
import { publishedComponents } from '../endpoints/openapi/served-source.js';
import type { RequestScope } from '../endpoints/handlers/scope.js';
import { DetachedObject } from '../storage/detached-object.js';
import { SelectedPage } from '../storage/cacher/tree/page.js';
import { Budget } from '../storage/cacher/budget.js';
import { cachedItem } from '../storage/cacher/tree/cached-item.js';
import { closeAll, scopeOf, setup, thing, Answer } from '../../test/fakes/offload/world.js';

afterEach(closeAll);

const TABLE = 'application/json;as=Table;g=meta.k8s.io;v=v1';
const LARGE_OBJECT = 300_000;

const bytesOf = (name: string, length: number): Buffer => {
  const { apiVersion, kind, metadata, spec } = thing(name, { size: 3, text: `ü${'x'.repeat(length)}` });
  const meta = { resourceVersion: '7', creationTimestamp: '2026-01-01T00:00:00Z', ...(metadata as object) };
  return Buffer.from(JSON.stringify({ apiVersion, kind, metadata: meta, spec }));
};

type World = ReturnType<typeof setup>;

function reading(world: World, accept: string, query: string, elsewhere: boolean, method = 'GET') {
  const { scope } = scopeOf(world, 'update', 'large', '');
  const request = new IncomingMessage(new Socket());
  Object.assign(request, {
    method,
    url: `/apis/example.com/v1/namespaces/ns/things/large${query}`,
    headers: { accept },
  });
  const response = new Answer(request);
  const environment = elsewhere ? world.environment : { ...world.environment, offload: undefined };
  const read: RequestScope = { ...scope, environment, request, response };
  return { scope: read, response };
}

const FORMS = [
  ['a Table', TABLE, ''],
  ['a Table with the object', TABLE, '?includeObject=Object'],
  ['YAML', 'application/yaml', ''],
  ['indented', 'application/json', '?pretty=1'],
  ['metadata in YAML', 'application/yaml;as=PartialObjectMetadata;g=meta.k8s.io;v=v1', ''],
] as const;

test.each(FORMS)('a worker renders a large object as %s like the main thread', async (_name, accept, query) => {
  const world = setup();
  const object = new DetachedObject({ key: 'ns/large', revision: 7, bytes: bytesOf('large', LARGE_OBJECT), flags: 0 });
  const answers = [];
  for (const elsewhere of [true, false]) {
    const { scope, response } = reading(world, accept, query, elsewhere);
    const asked = new Query(scope.request.url ?? '');
    await writeCachedObject(scope, negotiateObject(scope, asked), object);
    answers.push({ body: response.body, type: response.getHeader('content-type'), status: response.statusCode });
  }
  expect(answers[0]).toEqual(answers[1]);
  expect(answers[0]?.body.length).toBeGreaterThan(100);
  expect(world.metrics.observeDuration).toHaveBeenCalledTimes(1);
});

test('objects that need no rendering, are small, or are not sent stay in the main thread', async () => {
  const world = setup();
  const large = new DetachedObject({ key: 'ns/large', revision: 7, bytes: bytesOf('large', LARGE_OBJECT), flags: 0 });
  const small = new DetachedObject({ key: 'ns/small', revision: 7, bytes: bytesOf('small', 1000), flags: 0 });
  for (const [object, accept, method] of [
    [large, 'application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1', 'GET'],
    [small, TABLE, 'GET'],
    [large, 'application/yaml', 'HEAD'],
  ] as const) {
    const { scope } = reading(world, accept, '', true, method);
    const asked = new Query('');
    await writeCachedObject(scope, negotiateObject(scope, asked), object);
  }
  expect(world.started).toHaveLength(0);
});

test.each(FORMS.filter(([name]) => name !== 'metadata in YAML'))(
  'a worker renders the large items of a list as %s like the main thread',
  async (_name, accept, query) => {
    const world = setup();
    const type = { resource: 'things', attributes: () => ({ labels: undefined, fields: {} }) };
    const items = ['a', 'large', 'other', 'z'].map((name, i) =>
      cachedItem(
        { key: `ns/${name}`, revision: i + 1, bytes: bytesOf(name, i % 3 === 0 ? 100 : LARGE_OBJECT), flags: 0 },
        { type: () => type, budget: new Budget(1 << 20), localStates: undefined, onLost: () => undefined },
      ),
    );
    const bodies = [];
    for (const elsewhere of [true, false]) {
      const { scope, response } = reading(world, accept, query, elsewhere);
      const written: Buffer[] = [];
      response.write = (chunk: Uint8Array): boolean => written.push(Buffer.from(chunk)) > 0;
      const end = response.end.bind(response);
      response.end = (chunk?: unknown) => {
        if (chunk instanceof Uint8Array) written.push(Buffer.from(chunk));
        return end(chunk);
      };
      const asked = new Query(scope.request.url ?? '');
      const list = new SelectedPage(9, { items, rest: false, remaining: 0 });
      const result = { list, resourceVersion: 9, continue: '', remainingItemCount: undefined };
      await writeListResult(scope, negotiateList(scope, asked), result);
      bodies.push(Buffer.concat(written).toString());
    }
    expect(bodies[0]).toBe(bodies[1]);
    expect(bodies[0]).toContain('other');
    expect(world.metrics.observeDuration).toHaveBeenCalledTimes(2);
  },
);

test.each(['v3', 'v3-protobuf', 'v2'] as const)(
  'a worker builds the %s of a group version like the main thread',
  async (what) => {
    const world = setup();
    const kind = {
      kind: 'Thing',
      listKind: 'ThingList',
      plural: 'things',
      namespaced: true,
      verbs: ['get', 'list', 'create'],
      schema: { type: 'object', properties: { big: { type: 'integer', maximum: 9007199254740993n } } },
      subresources: [],
    };
    const gv = { group: 'example.com', version: 'v1', custom: true, kinds: [kind, { ...kind, kind: 'Other' }] };
    const elsewhere = await world.pool.describe(what, gv);
    expect(Buffer.from(elsewhere).toString('latin1')).toBe(
      Buffer.from(describe_(what, gv, publishedComponents())).toString('latin1'),
    );
    expect(elsewhere.length).toBeGreaterThan(1000);
  },
);

test('only large schemas of custom types are described by a worker', () => {
  const properties = (n: number) => Object.fromEntries(Array.from({ length: n }, (_, i) => [`p${String(i)}`, {}]));
  const gv = (n: number, custom: boolean) => ({
    group: 'example.com',
    version: 'v1',
    custom,
    kinds: [
      {
        kind: 'Thing',
        listKind: 'ThingList',
        plural: 'things',
        namespaced: true,
        verbs: [],
        schema: { properties: properties(n) },
        subresources: [],
      },
    ],
  });
  expect([gv(2000, true), gv(4000, true), gv(4000, false)].map(isLargeGroupVersion)).toEqual([false, true, false]);
});
