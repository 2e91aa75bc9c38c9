import { readFileSync } from 'node:fs';
import { createServer, request as httpRequest, type Server } from 'node:http';
import { connect, createServer as createServer2, type Http2Server } from 'node:http2';
import type { AddressInfo } from 'node:net';
import { gunzipSync, gzipSync } from 'node:zlib';
import type protobuf from 'protobufjs';
import { decodeCbor } from '../../../test/fakes/apimachinery/decode-cbor.js';
import type { RawTypes } from '../../apimachinery/scheme/types.js';
import { ProtobufCodec, readEnvelope } from '../../apimachinery/protobuf/protobuf.js';
import { newNotFound, newTooManyRequests, toApiError } from '../../apimachinery/meta/errors.js';
import { objectAt } from '../../apimachinery/json/json.js';
import type { KubeObject } from '../../apimachinery/meta/meta.js';
import { parseYaml } from '../../apimachinery/yaml/yaml.js';
import type { TableConvertor, VersionView } from '../../registry/rest/interfaces.js';
import type { RequestContext } from '../../request/context.js';
import type { CachedList, CachedObject, Representation, WatchEvent } from '../../storage/cacher/interfaces.js';
import { encodeObject } from '../../storage/encode.js';
import { FakeClock } from '../../../test/fakes/util/clock.js';
import { humanDuration } from '../../util/text/human-duration.js';
import type { HttpRequest, HttpResponse } from '../http.js';
import { negotiate, type NegotiatedMedia } from '../negotiation/media.js';
import { builtinConventions, customResourceConventions } from './conventions.js';
import { eventFrames } from './events.js';
import { indentJson } from './indent.js';
import { writeList } from './list.js';
import { metadataBytes } from './metadata.js';
import { writeObject } from './object.js';
import type { ResponseSink } from './sink.js';
import { writeStatus } from './status.js';

const read = (path: string): unknown => JSON.parse(readFileSync(path, 'utf8'));
const codec = new ProtobufCodec(
  read('data/protobuf.json') as protobuf.INamespace,
  read('data/types/types.json') as RawTypes,
);
const clock = new FakeClock(Date.UTC(2026, 0, 1, 0, 2, 23));
const options = { compression: true, cbor: true, protobuf: codec };
const conventionsOf = (view: VersionView) => ({
  conventions: view.type.custom ? customResourceConventions : builtinConventions,
});
const settings = {
  conventions: builtinConventions,
  compression: true,
  protobuf: codec,
  clock,
  includeObject: undefined,
  offload: undefined,
};
const context = { userAgent: 'test' } as RequestContext;

let decoded = 0;

function cached(object: KubeObject, revision: number): CachedObject {
  const { head, tail } = encodeObject(object);
  const bytes = Buffer.from(`${head}${revision}${tail}`);
  const made = new Map<string, Uint8Array>();
  const one: CachedObject = {
    key: `${object.metadata.namespace ?? ''}/${object.metadata.name ?? ''}`,
    revision,
    bytes,
    flags: 0,
    attributes: { labels: undefined, fields: {} },
    undecodable: false,
    incomplete: false,
    decode: () => {
      decoded++;
      return JSON.parse(bytes.toString()) as KubeObject;
    },
    render: (representation: Representation) => {
      if (representation.identityUpTo === Infinity) return bytes;
      let rendered = made.get(representation.id);
      if (rendered === undefined) {
        rendered = representation.render(one);
        made.set(representation.id, rendered);
      }
      return rendered;
    },
  };
  return one;
}

function listOf(objects: readonly CachedObject[], block = 3): CachedList {
  function* chunks(representation: Representation): Generator<Uint8Array> {
    const separator = Buffer.from(representation.separator);
    for (let i = 0; i < objects.length; i += block) {
      const parts = objects
        .slice(i, i + block)
        .flatMap((one, j) => (i + j === 0 ? [one.render(representation)] : [separator, one.render(representation)]));
      yield Buffer.concat(parts);
    }
  }
  return {
    revision: 429,
    length: objects.length,
    lastKey: undefined,
    remaining: 0,
    items: () => objects,
    chunks,
    *gzipChunks(representation) {
      for (const chunk of chunks(representation)) yield gzipSync(chunk);
    },
  };
}

const table: TableConvertor = {
  columns: [
    { name: 'Name', type: 'string', format: 'name', description: 'n', priority: 0 },
    { name: 'S', type: 'string', format: '', description: 's', priority: 1 },
    { name: 'Age', type: 'date', format: '', description: 'a', priority: 0 },
  ],
  timeDependent: true,
  cells: (object, now) => {
    const from = object.metadata.creationTimestamp;
    return [
      object.metadata.name ?? '',
      objectAt(object, 'spec')?.['s'] ?? null,
      typeof from === 'string' ? humanDuration(now - Date.parse(from)) : null,
    ];
  },
  since: (object) => [undefined, undefined, Date.parse(object.metadata.creationTimestamp ?? '') || undefined],
};

let views = 0;

function viewOf(kind: string, groupVersion: string, custom: boolean, convertor: TableConvertor = table): VersionView {
  views++;
  const toObject = (object: CachedObject): KubeObject => object.decode() as KubeObject;
  const id = `view${views}`;
  return {
    type: {
      kind,
      listKind: `${kind}List`,
      custom,
      group: groupVersion.includes('/') ? (groupVersion.split('/')[0] ?? '') : '',
    },
    version: { name: 'v1', table: convertor },
    groupVersion,
    id,
    json: { id, identityUpTo: Infinity, separator: ',', render: (object: CachedObject) => object.bytes },
    listItem: custom
      ? { id, identityUpTo: Infinity, separator: ',', render: (object: CachedObject) => object.bytes }
      : {
          id: `${id}/item`,
          separator: ',',
          render: (object: CachedObject) => {
            const text = Buffer.from(object.bytes).toString();
            return Buffer.from(`{${text.slice(text.indexOf('"metadata"'))}`);
          },
        },
    itemTree: (object: CachedObject) => {
      const { apiVersion, kind, ...rest } = toObject(object);
      return custom ? { apiVersion, kind, ...rest } : rest;
    },
    toObject,
  } as never;
}

const foo = (name: string, more = {}): KubeObject => ({
  apiVersion: 'neg.example.com/v1',
  kind: 'Foo',
  metadata: { name, namespace: 'default', creationTimestamp: '2026-01-01T00:00:00Z', labels: { x: 'é"}{\\' } },
  spec: { s: `a<${name}>`, ...more },
});
const foos = viewOf('Foo', 'neg.example.com/v1', true);
const namespaces = viewOf('Namespace', 'v1', false);
const namespace = (name: string): KubeObject => ({
  apiVersion: 'v1',
  kind: 'Namespace',
  metadata: { name },
  spec: { finalizers: ['kubernetes'] },
});

type Work = (request: HttpRequest, response: HttpResponse) => Promise<void> | void;

let work: Work;
let server: Server;
let server2: Http2Server;

const answerWith = (request: HttpRequest, response: HttpResponse): void => {
  const run = async (): Promise<void> => {
    await work(request, response);
  };
  run().catch((error: unknown) => {
    void writeStatus({ context, request, response }, toApiError(error), options);
  });
};

beforeAll(async () => {
  server = createServer(answerWith);
  server2 = createServer2((request, response) => {
    answerWith(request, Object.assign(response, { flushHeaders: () => undefined }));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  await new Promise<void>((resolve) => server2.listen(0, '127.0.0.1', resolve));
});

afterAll(async () => {
  await new Promise((resolve) => server.close(resolve));
  await new Promise((resolve) => server2.close(resolve));
});

interface Answer {
  status: number;
  headers: Record<string, string | string[] | undefined>;
  body: Buffer;
}

function ask(does: Work, headers: Record<string, string> = {}, method = 'GET'): Promise<Answer> {
  work = does;
  return new Promise((resolve, reject) => {
    const { port } = server.address() as AddressInfo;
    const request = httpRequest({ port, host: '127.0.0.1', path: '/', headers, method, agent: false }, (response) => {
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

const media = (accept: string, view: VersionView, hints = {}): NegotiatedMedia =>
  negotiate(accept, { noProtobuf: view.type.custom, cbor: true, transforms: true }, { userAgent: 'test', ...hints });

const g = 'g=meta.k8s.io;v=v1';
const partialType = `as=PartialObjectMetadata;${g}`;
const partialsType = `as=PartialObjectMetadataList;${g}`;
const tableType = `as=Table;${g}`;

const sink = (
  request: HttpRequest,
  response: HttpResponse,
  wanted: NegotiatedMedia,
  more: Partial<ResponseSink>,
): ResponseSink => ({
  ...settings,
  request,
  response,
  audit: context.audit,
  stopwatch: context.stopwatch,
  media: wanted,
  ...more,
});

const object =
  (of: CachedObject | KubeObject, view: VersionView, accept: string, more: Partial<ResponseSink> = {}): Work =>
  (request, response) =>
    writeObject(sink(request, response, media(accept, view), { ...conventionsOf(view), ...more }), 200, of, view);

const list =
  (of: CachedList, view: VersionView, accept: string, more: Partial<ResponseSink> = {}, pretty?: string): Work =>
  (request, response) =>
    writeList(
      sink(request, response, media(accept, view, { pretty }), { ...conventionsOf(view), ...more }),
      of,
      { resourceVersion: '429', continue: 'abc', remainingItemCount: 4 },
      view,
    );

const meta = (name: string, revision: number): string =>
  `{"resourceVersion":"${revision}","name":"${name}","namespace":"default","creationTimestamp":"2026-01-01T00:00:00Z","labels":{"x":"é\\"}{\\\\"}}`;

describe('objects', () => {
  const a = cached(foo('a'), 382);

  test('JSON is the stored bytes and a newline', async () => {
    const before = decoded;
    const answer = await ask(object(a, foos, '*/*'));
    expect(answer.body.toString()).toBe(`${Buffer.from(a.bytes).toString()}\n`);
    expect(answer.headers).toMatchObject({
      'content-type': 'application/json',
      'content-length': String(a.bytes.length + 1),
    });
    expect(decoded).toBe(before);
  });

  test('HEAD sends no body', async () => {
    const answer = await ask(object(a, foos, '*/*'), {}, 'HEAD');
    expect([answer.body.length, answer.headers['content-length']]).toEqual([0, String(a.bytes.length + 1)]);
  });

  test('metadata only needs no decoding', async () => {
    const before = decoded;
    const answer = await ask(object(a, foos, `application/json;${partialType}`));
    expect(answer.body.toString()).toBe(
      `{"kind":"PartialObjectMetadata","apiVersion":"meta.k8s.io/v1","metadata":${meta('a', 382)}}\n`,
    );
    expect(decoded).toBe(before);
  });

  test('finds the metadata of bytes in another layout', () => {
    const odd: CachedObject = { ...a, render: () => Buffer.from('{"kind":"Foo","metadata":{"name":"a"}}') };
    expect(JSON.parse(Buffer.from(metadataBytes(foos, odd)).toString())).toMatchObject({ name: 'a' });
  });

  test('a Table has one row', async () => {
    const answer = await ask(object(a, foos, `application/json;${tableType}`, { includeObject: 'None' }));
    expect(JSON.parse(answer.body.toString())).toEqual({
      kind: 'Table',
      apiVersion: 'meta.k8s.io/v1',
      metadata: { resourceVersion: '382' },
      columnDefinitions: table.columns,
      rows: [{ cells: ['a', 'a<a>', '2m23s'], object: null }],
    });
  });

  test('YAML, CBOR, and Protobuf contain the same object', async () => {
    const yaml = await ask(object(a, foos, 'application/yaml'));
    expect(parseYaml(yaml.body).value).toEqual(a.decode());
    const cbor = await ask(object(a, foos, 'application/cbor'));
    expect(decodeCbor(cbor.body)).toEqual(a.decode());
    const one = cached(namespace('n'), 15);
    const proto = await ask(object(one, namespaces, 'application/vnd.kubernetes.protobuf'));
    expect(codec.decode(proto.body)).toEqual(one.decode());
  });

  test('an object that is not cached is serialized', async () => {
    const answer = await ask(object(foo('b'), foos, 'application/json;pretty=1'));
    expect(answer.body.toString()).toBe(JSON.stringify(foo('b'), null, 2));
  });

  test('a Status is not transformed', async () => {
    const status = { kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Success' };
    const answer = await ask(object(status, foos, `application/json;${tableType}`));
    expect(JSON.parse(answer.body.toString())).toEqual(status);
  });

  test.each<[string, VersionView, string, number, string]>([
    ['custom', foos, `application/json;${partialsType}`, 500, 'content is not a list'],
    [
      'built-in',
      namespaces,
      `application/json;${partialsType}`,
      406,
      'you requested PartialObjectMetadataList, but the requested object is not a list (*core.Namespace)',
    ],
    [
      'an unusable includeObject',
      foos,
      `application/json;${tableType}`,
      400,
      "Unable to convert to Table as requested: includeObject: Invalid value: \"Foo\": must be 'Metadata', 'Object', 'None', or empty",
    ],
  ])('refuses an impossible form: %s', async (_name, view, accept, status, message) => {
    const answer = await ask(object(a, view, accept, { includeObject: 'Foo' }));
    expect([answer.status, JSON.parse(answer.body.toString())]).toEqual([
      status,
      expect.objectContaining({ message, code: status }) as object,
    ]);
  });

  test('long responses are compressed if the client accepts it', async () => {
    const long = cached(foo('long', { text: 'x'.repeat(140_000) }), 1);
    const plain = await ask(object(long, foos, '*/*'));
    const zipped = await ask(object(long, foos, '*/*'), { 'accept-encoding': 'deflate, gzip' });
    expect(gunzipSync(zipped.body).equals(plain.body)).toBe(true);
    expect(zipped.headers).toMatchObject({ 'content-encoding': 'gzip', vary: 'Accept-Encoding' });
    expect(plain.headers['vary']).toBeUndefined();
    const off = await ask(object(long, foos, '*/*', { compression: false }), { 'accept-encoding': 'gzip' });
    expect(off.headers['content-encoding']).toBeUndefined();
    expect(
      (await ask(object(a, foos, '*/*'), { 'accept-encoding': 'gzip' })).headers['content-encoding'],
    ).toBeUndefined();
  });
});

describe('lists', () => {
  const objects = Array.from({ length: 7 }, (_, i) => cached(foo(`f${i}`), 100 + i));
  const items = objects.map((one) => one.decode());

  test('JSON is joined from the stored bytes', async () => {
    const before = decoded;
    const answer = await ask(list(listOf(objects), foos, '*/*'));
    expect(JSON.parse(answer.body.toString())).toEqual({
      kind: 'FooList',
      apiVersion: 'neg.example.com/v1',
      metadata: { resourceVersion: '429', continue: 'abc', remainingItemCount: 4 },
      items,
    });
    expect(answer.body.toString().endsWith(']}\n')).toBe(true);
    expect(decoded).toBe(before);
  });

  test.each<[string, VersionView, string]>([
    [
      'custom',
      foos,
      '{"kind":"FooList","apiVersion":"neg.example.com/v1","metadata":{"resourceVersion":"1","continue":""},"items":[]}\n',
    ],
    [
      'built-in',
      namespaces,
      '{"kind":"NamespaceList","apiVersion":"v1","metadata":{"resourceVersion":"1"},"items":[]}\n',
    ],
  ])('an empty list, %s', async (_name, view, expected) => {
    const answer = await ask((request, response) =>
      writeList(
        sink(request, response, media('*/*', view), conventionsOf(view)),
        listOf([]),
        { resourceVersion: '1' },
        view,
      ),
    );
    expect(answer.body.toString()).toBe(expected);
  });

  test('every encoding contains the same list', async () => {
    const json = JSON.parse((await ask(list(listOf(objects), foos, '*/*'))).body.toString()) as object;
    const pretty = await ask(list(listOf(objects), foos, '*/*', {}, 'true'));
    expect(pretty.body.toString()).toBe(JSON.stringify(json, null, 2));
    expect(parseYaml((await ask(list(listOf(objects), foos, 'application/yaml'))).body).value).toEqual(json);
    expect(decodeCbor((await ask(list(listOf(objects), foos, 'application/cbor'))).body)).toEqual(json);
  });

  test('Protobuf is a list of messages', async () => {
    const some = [cached(namespace('a'), 1), cached(namespace('b'), 2)];
    const answer = await ask(list(listOf(some, 1), namespaces, 'application/vnd.kubernetes.protobuf'));
    expect(codec.decode(answer.body)).toEqual({
      kind: 'NamespaceList',
      apiVersion: 'v1',
      metadata: { resourceVersion: '429', continue: 'abc', remainingItemCount: 4 },
      items: some.map((one) => ({
        metadata: { name: one.key.slice(1), resourceVersion: String(one.revision) },
        spec: { finalizers: ['kubernetes'] },
      })),
    });
  });

  test('metadata only, in JSON and Protobuf', async () => {
    const json = await ask(list(listOf(objects), foos, `application/json;${partialsType}`));
    const expected = JSON.parse(json.body.toString()) as { kind: string; items: KubeObject[] };
    expect(expected.kind).toBe('PartialObjectMetadataList');
    expect(expected.items[6]).toEqual({
      kind: 'PartialObjectMetadata',
      apiVersion: 'meta.k8s.io/v1',
      metadata: JSON.parse(meta('f6', 106)) as object,
    });
    const proto = await ask(list(listOf(objects), foos, `application/vnd.kubernetes.protobuf;${partialsType}`));
    expect(codec.decode(proto.body)['items']).toEqual(expected.items.map(({ metadata }) => ({ metadata })));
  });

  test.each(['None', 'Metadata', 'Object'])('a Table with %s', async (includeObject) => {
    const answer = await ask(list(listOf(objects), foos, `application/json;${tableType}`, { includeObject }));
    const yaml = await ask(list(listOf(objects), foos, `application/yaml;${tableType}`, { includeObject }));
    const shown = JSON.parse(answer.body.toString()) as { rows: { cells: unknown[]; object: unknown }[] };
    expect(shown).toMatchObject({ kind: 'Table', metadata: { continue: 'abc' }, columnDefinitions: table.columns });
    expect(shown.rows).toHaveLength(7);
    expect(shown.rows[3]?.cells).toEqual(['f3', 'a<f3>', '2m23s']);
    const partial = { kind: 'PartialObjectMetadata', apiVersion: 'meta.k8s.io/v1', metadata: items[3]?.['metadata'] };
    expect(shown.rows[3]?.object).toEqual({ None: null, Metadata: partial, Object: items[3] }[includeObject]);
    expect(parseYaml(yaml.body).value).toEqual(shown);
  });

  test('renders only the ages again', async () => {
    const later = { clock: new FakeClock(Date.UTC(2026, 0, 3, 5)) };
    const before = decoded;
    const answer = await ask(list(listOf(objects), foos, `application/json;${tableType}`, later));
    expect((JSON.parse(answer.body.toString()) as { rows: { cells: unknown[] }[] }).rows[0]?.cells[2]).toBe('2d5h');
    expect(decoded).toBe(before);
  });

  test('a list cannot be returned as an object', async () => {
    const answer = await ask(list(listOf(objects), foos, `application/json;${partialType}`));
    expect([answer.status, (JSON.parse(answer.body.toString()) as { message: string }).message]).toEqual([
      406,
      'you requested PartialObjectMetadata, but the requested object is a list (*unstructured.UnstructuredList)',
    ]);
  });

  const many = listOf(
    Array.from({ length: 3000 }, (_, i) => cached(foo(`m${i}`), i)),
    100,
  );

  test.each<[string, string]>([
    ['JSON', '*/*'],
    ['Table', `application/json;${tableType}`],
    ['YAML', 'application/yaml'],
  ])('a long list is compressed in members: %s', async (_name, accept) => {
    const plain = await ask(list(many, foos, accept));
    const zipped = await ask(list(many, foos, accept), { 'accept-encoding': 'gzip' });
    expect(zipped.headers['content-encoding']).toBe('gzip');
    expect(gunzipSync(zipped.body).equals(plain.body)).toBe(true);
    expect(plain.headers['content-length']).toBeUndefined();
  });

  test('HTTP/2 returns the same response', async () => {
    work = list(many, foos, '*/*');
    const { port } = server2.address() as AddressInfo;
    const session = connect(`http://127.0.0.1:${port}`);
    const body = await new Promise<Buffer>((resolve, reject) => {
      const chunks: Buffer[] = [];
      const stream = session.request({ ':path': '/' });
      stream.on('data', (chunk: Buffer) => chunks.push(chunk));
      stream.on('end', () => {
        resolve(Buffer.concat(chunks));
      });
      stream.on('error', reject);
      stream.end();
    });
    session.close();
    expect(body.equals((await ask(list(many, foos, '*/*'))).body)).toBe(true);
  });

  test('writing stops when the client disconnects', async () => {
    let written = Promise.resolve();
    work = (request, response) => (written = Promise.resolve(list(many, foos, 'application/yaml')(request, response)));
    await new Promise<void>((resolve) => {
      const { port } = server.address() as AddressInfo;
      const request = httpRequest({ port, host: '127.0.0.1', path: '/', agent: false }, (response) => {
        response.once('data', () => {
          request.destroy();
        });
        response.once('close', resolve);
        response.on('error', () => undefined);
      });
      request.on('error', () => undefined);
      request.end();
    });
    await expect(written).resolves.toBeUndefined();
  });
});

describe('errors', () => {
  const failing: Work = (request, response) =>
    writeStatus(
      { context, request, response },
      newNotFound({ group: 'neg.example.com', resource: 'foos' }, 'zz'),
      options,
    );
  const text =
    '{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":"foos.neg.example.com \\"zz\\" not found","reason":"NotFound","details":{"name":"zz","group":"neg.example.com","kind":"foos"},"code":404}';

  test.each<[string, string]>([
    ['application/json', `${text}\n`],
    ['application/json;pretty=1', indentJson(text)],
    ['foo/bar', indentJson(text)],
    [`application/json;${tableType}`, indentJson(text)],
    [`application/json;${tableType},application/json`, `${text}\n`],
  ])('%s', async (accept, expected) => {
    const answer = await ask(failing, { accept });
    expect([answer.status, answer.body.toString(), answer.headers['content-type']]).toEqual([
      404,
      expected,
      'application/json',
    ]);
  });

  test('are encoded in Protobuf', async () => {
    const answer = await ask(failing, { accept: 'application/vnd.kubernetes.protobuf' });
    expect(readEnvelope(answer.body).kind).toBe('Status');
  });

  test('set Retry-After', async () => {
    const answer = await ask((request, response) =>
      writeStatus({ context, request, response }, newTooManyRequests('busy', 3), options),
    );
    expect([answer.status, answer.headers['retry-after']]).toEqual([429, '3']);
  });
});

describe('watch events', () => {
  const a = cached(foo('a'), 382);
  const event = (type: WatchEvent['type'], of: CachedObject | undefined, initialEventsEnd = false): WatchEvent => ({
    type,
    revision: 431,
    object: of,
    initialEventsEnd,
    encoded: () => new Uint8Array(0),
  });
  const frames = (accept: string, view: VersionView, more: Partial<ResponseSink> = {}) =>
    eventFrames(view, {
      ...settings,
      ...conventionsOf(view),
      media: negotiate(
        accept,
        { noProtobuf: view.type.custom, cbor: true, transforms: true, watch: true },
        { userAgent: 'test' },
      ),
      ...more,
    });
  const shown = (bytes: Uint8Array): string => Buffer.from(bytes).toString();

  test('JSON', () => {
    expect(shown(frames('*/*', foos).rest.encode(event('ADDED', a)))).toBe(
      `{"type":"ADDED","object":${shown(a.bytes)}}\n`,
    );
  });

  test.each<[string, VersionView, string, string]>([
    [
      'custom',
      foos,
      '*/*',
      '{"kind":"Foo","apiVersion":"neg.example.com/v1","metadata":{"resourceVersion":"431","annotations":{"k8s.io/initial-events-end":"true"}}}',
    ],
    [
      'built-in',
      namespaces,
      '*/*',
      '{"kind":"Namespace","apiVersion":"v1","metadata":{"resourceVersion":"431","annotations":{"k8s.io/initial-events-end":"true"}},"spec":{},"status":{}}',
    ],
    [
      'metadata',
      namespaces,
      `application/json;${partialType}`,
      '{"kind":"PartialObjectMetadata","apiVersion":"meta.k8s.io/v1","metadata":{"resourceVersion":"431","annotations":{"k8s.io/initial-events-end":"true"}}}',
    ],
    [
      'Table',
      foos,
      `application/json;${tableType}`,
      '{"kind":"Table","apiVersion":"meta.k8s.io/v1","metadata":{"resourceVersion":"431"},"columnDefinitions":null,"rows":[{"cells":["",null,null],"object":{"kind":"PartialObjectMetadata","apiVersion":"meta.k8s.io/v1","metadata":{"resourceVersion":"431","annotations":{"k8s.io/initial-events-end":"true"}}}}]}',
    ],
  ])('the end of the initial events: %s', (_name, view, accept, expected) => {
    const bytes = frames(accept, view, { includeObject: 'None' }).rest.encode(event('BOOKMARK', undefined, true));
    expect(shown(bytes)).toBe(`{"type":"BOOKMARK","object":${expected}}\n`);
  });

  test('columns come only with the first event', () => {
    const { first, rest } = frames(`application/json;${tableType}`, foos, { includeObject: 'None' });
    const rows = '"rows":[{"cells":["a","a<a>","2m23s"],"object":null}]';
    const head =
      '{"type":"MODIFIED","object":{"kind":"Table","apiVersion":"meta.k8s.io/v1","metadata":{"resourceVersion":"382"},"columnDefinitions":';
    expect(shown(first.encode(event('MODIFIED', a)))).toBe(`${head}${JSON.stringify(table.columns)},${rows}}}\n`);
    expect(shown(rest.encode(event('MODIFIED', a)))).toBe(`${head}null,${rows}}}\n`);
    expect(first.id).not.toBe(rest.id);
  });

  test('Tables with ages are shared only briefly', () => {
    const accept = `application/json;${tableType}`;
    const later = { clock: new FakeClock(clock.now() + 60_000) };
    expect(frames(accept, foos).rest.id).toBe(frames(accept, foos).rest.id);
    expect(frames(accept, foos, later).rest.id).not.toBe(frames(accept, foos).rest.id);
  });

  test('CBOR is a sequence of items', () => {
    const bytes = frames('application/cbor', foos).rest.encode(event('DELETED', a));
    expect(decodeCbor(bytes)).toEqual({ type: 'DELETED', object: a.decode() });
  });

  test('Protobuf has a length before each event', () => {
    const one = cached(namespace('n'), 15);
    const bytes = Buffer.from(
      frames('application/vnd.kubernetes.protobuf', namespaces).rest.encode(event('ADDED', one)),
    );
    expect(bytes.readUInt32BE(0)).toBe(bytes.length - 4);
    expect(bytes.subarray(bytes.indexOf('k8s\0')).equals(Buffer.from(codec.encode(one.decode())))).toBe(true);
  });

  test('an ERROR carries a Status', () => {
    const { status } = newTooManyRequests('busy', 1);
    expect(shown(frames(`application/json;${tableType}`, foos).error(status))).toBe(
      `{"type":"ERROR","object":${JSON.stringify(status)}}\n`,
    );
  });

  test('lists of metadata cannot be watched', () => {
    expect(frames(`application/json;${partialsType}`, foos).isUnsupported).toBe(true);
    expect(frames('*/*', foos).isUnsupported).toBe(false);
  });
});

test.each<[string, string]>([
  ['{}', '{}'],
  ['{"a":[],"b":{}}', '{\n  "a": [],\n  "b": {}\n}'],
  ['{"a":{"b":1} }', '{\n  "a": {\n    "b": 1\n  }\n}'],
  ['{"a\\"{":"x,:]\\\\"}', '{\n  "a\\"{": "x,:]\\\\"\n}'],
  ['[1,[2,{"c":9007199254740993}]]', '[\n  1,\n  [\n    2,\n    {\n      "c": 9007199254740993\n    }\n  ]\n]'],
])('indented: %s', (text, expected) => {
  expect(indentJson(text)).toBe(expected);
});
