import { readdirSync, readFileSync } from 'node:fs';
import { createServer, request as httpRequest, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { gunzipSync } from 'node:zlib';
import { isObject, type JsonObject, type JsonValue } from '../../apimachinery/json/json.js';
import type { RequestContext } from '../../request/context.js';
import { FakeClock } from '../../../test/fakes/util/clock.js';
import { downConvert, publishSchema } from './custom-schema.js';
import { OpenApi } from './openapi.js';
import type { OpenApiGroupVersion, PublishedComponents } from './source.js';
import { definitionsV2, pathsV2 } from './spec-v2.js';
import { buildSpec } from './spec-v3.js';

const read = (path: string): unknown => JSON.parse(readFileSync(path, 'utf8'));

/** Recorded from kube-apiserver v1.36.3, without descriptions. */
const goldens = read('src/endpoints/openapi/goldens.json') as {
  schema: JsonObject;
  v3: { paths: JsonObject; schemas: JsonObject; names: string[] };
  v2: { paths: JsonObject; definitions: JsonObject };
  lease: { paths: JsonObject };
  /** With descriptions. */
  described: { schema: JsonObject; v3: JsonObject };
};

const published = Object.fromEntries(
  readdirSync('data/openapi').map((file) => [
    file.replace(/\.json$/, '').replaceAll('__', '/'),
    read(`data/openapi/${file}`) as Record<string, JsonObject>,
  ]),
) as PublishedComponents;

const readWrite = ['get', 'patch', 'update'];
const foos: OpenApiGroupVersion = {
  group: 'neg.example.com',
  version: 'v1',
  custom: true,
  kinds: [
    {
      kind: 'Foo',
      listKind: 'FooList',
      plural: 'foos',
      namespaced: true,
      verbs: ['delete', 'deletecollection', 'get', 'list', 'patch', 'create', 'update', 'watch'],
      schema: goldens.schema,
      subresources: [
        { name: 'status', verbs: readWrite },
        { name: 'scale', verbs: readWrite, type: { group: 'autoscaling', version: 'v1', kind: 'Scale' } },
      ],
    },
  ],
};
const leases: OpenApiGroupVersion = {
  group: 'coordination.k8s.io',
  version: 'v1',
  custom: false,
  kinds: [
    {
      kind: 'Lease',
      listKind: 'LeaseList',
      plural: 'leases',
      namespaced: true,
      verbs: ['create', 'delete', 'deletecollection', 'get', 'list', 'patch', 'update', 'watch'],
      subresources: [],
    },
  ],
};

function withoutDescriptions(value: JsonValue | undefined): JsonValue | undefined {
  if (Array.isArray(value)) return value.map((item) => withoutDescriptions(item) ?? null);
  if (!isObject(value)) return value;
  return Object.fromEntries(
    Object.entries(value).flatMap(([key, member]) =>
      key === 'description' && typeof member === 'string' ? [] : [[key, withoutDescriptions(member)]],
    ),
  );
}

describe('a custom type is published as kube-apiserver does', () => {
  const spec = buildSpec(foos, published);
  const paths = spec.document['paths'] as JsonObject;

  test.each(Object.keys(goldens.v3.paths))('v3: %s', (path) => {
    expect(withoutDescriptions(paths[path])).toEqual(goldens.v3.paths[path]);
  });

  test('v3: paths and names of schemas', () => {
    expect(Object.keys(paths).sort()).toEqual(Object.keys(goldens.v3.paths).sort());
    expect(Object.keys(spec.schemas)).toEqual(goldens.v3.names);
  });

  test.each(Object.keys(goldens.v3.schemas))('v3: %s', (name) => {
    expect(withoutDescriptions(spec.schemas[name])).toEqual(goldens.v3.schemas[name]);
  });

  const v2 = pathsV2(foos, spec.operations);

  test.each(Object.keys(goldens.v2.paths))('v2: %s', (path) => {
    expect(withoutDescriptions(v2[path])).toEqual(goldens.v2.paths[path]);
  });

  test.each(Object.keys(goldens.v2.definitions))('v2: %s', (name) => {
    expect(withoutDescriptions(definitionsV2(foos, spec)[name])).toEqual(goldens.v2.definitions[name]);
  });
});

test.each(Object.keys(goldens.described.v3))('what every custom object has is described: %s', (name) => {
  const kinds = foos.kinds.map((kind) => ({ ...kind, schema: goldens.described.schema }));
  const { schemas } = buildSpec({ ...foos, group: 'described.example.com', kinds }, published);
  expect(schemas[name]).toEqual(goldens.described.v3[name]);
});

test.each(Object.keys(goldens.lease.paths))('a built-in type is published as kube-apiserver does: %s', (path) => {
  const paths = buildSpec(leases, published).document['paths'] as JsonObject;
  expect(withoutDescriptions(paths[path])).toEqual(goldens.lease.paths[path]);
});

describe('schemas', () => {
  test.each<[string, JsonObject, JsonObject]>([
    [
      'integers or strings',
      { 'x-kubernetes-int-or-string': true },
      { anyOf: [{ type: 'integer' }, { type: 'string' }] },
    ],
    [
      'integers or strings that say so',
      { 'x-kubernetes-int-or-string': true, anyOf: [{ type: 'integer' }, { type: 'string' }] },
      { anyOf: [{ type: 'integer' }, { type: 'string' }] },
    ],
    [
      'integers or strings with other choices',
      { 'x-kubernetes-int-or-string': true, anyOf: [{ minimum: 1 }] },
      { anyOf: [{ minimum: 1 }], allOf: [{ anyOf: [{ type: 'integer' }, { type: 'string' }] }] },
    ],
  ])('v3: %s', (_name, schema, expected) => {
    expect(publishSchema(schema)).toEqual({ 'x-kubernetes-int-or-string': true, ...expected });
  });

  test.each<[string, JsonObject, JsonObject]>([
    ['a list of anything', { type: 'array' }, {}],
    ['a list that may be null', { type: 'array', nullable: true, items: { type: 'string' } }, {}],
    [
      'a required field that may be null',
      {
        type: 'object',
        required: ['a', 'b'],
        properties: { a: { type: 'string', nullable: true }, b: { type: 'string' } },
      },
      { type: 'object', required: ['b'], properties: { a: {}, b: { type: 'string' } } },
    ],
    [
      'values that may be null',
      { type: 'object', required: ['a'], additionalProperties: { type: 'string', nullable: true } },
      { type: 'object', additionalProperties: {} },
    ],
    [
      'unknown fields',
      { type: 'object', properties: { a: { type: 'string' } }, 'x-kubernetes-preserve-unknown-fields': true },
      { 'x-kubernetes-preserve-unknown-fields': true },
    ],
    ['choices', { type: 'string', anyOf: [{ pattern: 'a' }], not: { pattern: 'b' }, default: 'a' }, { type: 'string' }],
  ])('v2: %s', (_name, schema, expected) => {
    downConvert(schema);
    expect(schema).toEqual(expected);
  });
});

let current: readonly OpenApiGroupVersion[] = [foos, leases];
let server: Server;
let port: number;

beforeAll((done) => {
  const make = (redirects: boolean): OpenApi =>
    new OpenApi({ source: { groupVersions: () => current }, published, clock: new FakeClock(), roots: [], redirects });
  const [alone, extending] = [make(true), make(false)];
  server = createServer((request, response) => {
    const path = (request.url ?? '').split('?')[0] ?? '';
    const openapi = request.headers['x-extending'] === undefined ? alone : extending;
    void openapi.handle({ info: { path } } as RequestContext, request, response);
  }).listen(0, '127.0.0.1', () => {
    port = (server.address() as AddressInfo).port;
    done();
  });
});

afterAll((done) => {
  server.close(done);
});

interface Answer {
  status: number;
  headers: Record<string, string | string[] | undefined>;
  body: Buffer;
}

function ask(path: string, headers: Record<string, string> = {}): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const request = httpRequest({ port, host: '127.0.0.1', path, headers, agent: false }, (response) => {
      const chunks: Buffer[] = [];
      response.on('data', (chunk: Buffer) => chunks.push(chunk));
      response.on('end', () => {
        resolve({ status: response.statusCode ?? 0, headers: response.headers, body: Buffer.concat(chunks) });
      });
    });
    request.on('error', reject);
    request.end();
  });
}

type Index = Record<string, { serverRelativeURL: string }>;
const index = async (): Promise<Index> =>
  (JSON.parse((await ask('/openapi/v3')).body.toString()) as { paths: Index }).paths;

describe('v3', () => {
  test('the index leads to documents that may be kept for ever', async () => {
    const url = (await index())['apis/neg.example.com/v1']!.serverRelativeURL;
    const answer = await ask(url);
    expect(answer.headers).toMatchObject({
      'content-type': 'application/json',
      'cache-control': 'public, immutable',
      expires: 'Fri, 01 Jan 2027 00:00:00 UTC',
      vary: 'Accept',
      etag: `"${url.split('hash=')[1] ?? ''}"`,
    });
    expect(JSON.parse(answer.body.toString())).toMatchObject({ openapi: '3.0.0' });
  });

  test('an outdated hash is redirected', async () => {
    const answer = await ask('/openapi/v3/apis/neg.example.com/v1?hash=x');
    expect([answer.status, answer.headers['location']]).toEqual([
      301,
      (await index())['apis/neg.example.com/v1']!.serverRelativeURL,
    ]);
  });

  test('by an extension of a cluster an outdated hash is answered, but not for ever', async () => {
    const headers = { 'x-extending': 'yes' };
    const url = (await index())['apis/neg.example.com/v1']!.serverRelativeURL;
    const [outdated, present] = [await ask(`${url}x`, headers), await ask(url, headers)];
    expect([outdated.status, outdated.headers['cache-control']]).toEqual([200, undefined]);
    expect([present.status, present.headers['cache-control']]).toEqual([200, 'public, immutable']);
    expect(outdated.body.equals(present.body)).toBe(true);
  });

  test('without a hash nothing is said about keeping', async () => {
    const answer = await ask('/openapi/v3/apis/coordination.k8s.io/v1');
    expect([answer.status, answer.headers['cache-control'], answer.headers['expires']]).toEqual([
      200,
      undefined,
      undefined,
    ]);
  });

  test('follows changes, and keeps what did not change', async () => {
    const before = await index();
    const changed = { ...foos, kinds: foos.kinds.map((kind) => ({ ...kind, plural: 'bars' })) };
    current = [changed, leases];
    const after = await index();
    expect(after['apis/neg.example.com/v1']).not.toEqual(before['apis/neg.example.com/v1']);
    expect(after['apis/coordination.k8s.io/v1']).toEqual(before['apis/coordination.k8s.io/v1']);
    current = [leases];
    expect(Object.keys(await index())).toEqual(['apis/coordination.k8s.io/v1']);
    expect((await ask('/openapi/v3/apis/neg.example.com/v1')).status).toBe(404);
    current = [foos, leases];
  });

  test.each<[string, Record<string, string>, number]>([
    ['/openapi/v3/apis/nope/v1', {}, 404],
    ['/openapi/v3/', {}, 404],
    ['/openapi/v3/apis/neg.example.com/v1', { accept: 'foo/bar' }, 406],
  ])('%s %j', async (path, headers, status) => {
    const answer = await ask(path, headers);
    expect([answer.status, answer.body.length]).toEqual([status, 0]);
  });
});

describe('v2', () => {
  test('holds every group version once, plain and compressed', async () => {
    const plain = await ask('/openapi/v2');
    const document = JSON.parse(plain.body.toString()) as { paths: JsonObject; definitions: JsonObject };
    expect(document.paths).toMatchObject({
      '/apis/neg.example.com/v1/foos': {},
      '/apis/coordination.k8s.io/v1/leases': {},
    });
    expect(document.definitions).toHaveProperty(['io.k8s.api.coordination.v1.Lease', 'properties', 'metadata'], {
      $ref: '#/definitions/io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta',
    });
    const compressed = await ask('/openapi/v2', { 'accept-encoding': 'gzip' });
    expect(compressed.headers['content-encoding']).toBe('gzip');
    expect(gunzipSync(compressed.body).equals(plain.body)).toBe(true);
    expect(compressed.headers['vary']).toBe('Accept-Encoding, Accept');
  });

  test('is not sent again', async () => {
    const tag = String((await ask('/openapi/v2')).headers['etag']);
    const again = await ask('/openapi/v2', { 'if-none-match': `W/${tag}` });
    expect([again.status, again.body.length, again.headers['content-type']]).toEqual([304, 0, undefined]);
  });

  test('comes in Protobuf', async () => {
    const answer = await ask('/openapi/v2', { accept: 'application/com.github.proto-openapi.spec.v2@v1.0+protobuf' });
    expect(answer.headers['content-type']).toBe('application/com.github.proto-openapi.spec.v2.v1.0+protobuf');
    expect(answer.body.subarray(0, 7).toString('latin1')).toBe('\n\x032.0\x12\x12');
    expect(answer.body.includes('com.example.neg.v1.Foo')).toBe(true);
  });

  test('v3 comes in Protobuf, under the same tag', async () => {
    const known = await ask('/openapi/v3', {});
    const [first = ''] = Object.keys((JSON.parse(known.body.toString('utf8')) as { paths: object }).paths);
    const json = await ask(`/openapi/v3/${first}`, { accept: 'application/json' });
    for (const subtype of ['spec.v3@v1.0', 'spec.v3.v1.0']) {
      const answer = await ask(`/openapi/v3/${first}`, {
        accept: `application/com.github.proto-openapi.${subtype}+protobuf`,
      });
      expect(answer.headers['content-type']).toBe('application/com.github.proto-openapi.spec.v3.v1.0+protobuf');
      expect(answer.body.subarray(0, 7).toString('latin1')).toBe('\n\x053.0.0');
      expect(answer.headers['etag']).toBe(json.headers['etag']);
    }
  });

  test('nothing else is made', async () => {
    expect((await ask('/openapi/v2', { accept: 'application/yaml' })).status).toBe(406);
  });
});
