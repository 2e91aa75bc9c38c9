import fc from 'fast-check';
import type { JsonValue } from '../../src/apimachinery/json/json.js';
import type { FuzzRequest } from './client.js';
import { type Kind, objectOf } from './fixtures.js';
import { anyEdit, body, edits, metadataEdit, utf8 } from './mutations.js';
import {
  DELETE,
  LIST,
  PATCH,
  WRITE,
  accept,
  collection,
  everywhere,
  headersOf,
  mostly,
  oddPath,
  pick,
  query,
  subPath,
} from './parts.js';
import * as values from './values.js';

const OWN = pick(['w1', 'w2', 'w3', 'new1', 'new2', 'new3']);
const contentType = mostly('application/json', pick(values.CONTENT_TYPES), 12);

function creates(kind: Kind): fc.Arbitrary<FuzzRequest> {
  const path = mostly(
    collection(kind),
    fc.oneof(
      subPath(kind),
      pick([everywhere(kind), `${kind.root}/namespaces/nowhere/${kind.plural}`, `${collection(kind)}/w1`]),
    ),
    20,
  );
  return fc
    .tuple(path, query(WRITE, 2), accept, contentType, body(kind, OWN))
    .map(([at, asked, media, type, text]) => ({
      method: 'POST',
      path: at + asked,
      headers: headersOf(media, type),
      body: text,
    }));
}

function updates(kind: Kind): fc.Arbitrary<FuzzRequest> {
  return OWN.chain((name) => {
    const at = `${collection(kind)}/${name}`;
    const path = mostly(
      at,
      fc.oneof(subPath(kind), pick([collection(kind), everywhere(kind), `${kind.root}/${kind.plural}/${name}`])),
      8,
    );
    return fc
      .tuple(path, query(WRITE, 2), accept, contentType, body(kind, mostly(name, OWN, 12)))
      .map(([to, asked, media, type, text]) => ({
        method: 'PUT',
        path: to + asked,
        headers: headersOf(media, type),
        body: text,
      }));
  });
}

const mergePatch = (kind: Kind): fc.Arbitrary<JsonValue> =>
  fc.oneof(
    fc.tuple(metadataEdit, anyEdit, fc.boolean()).map(([meta, any, both]) => {
      const patched = any(meta({ metadata: {}, ...(both ? kind.content : {}) }));
      return patched;
    }),
    pick<JsonValue>([
      {},
      null,
      1,
      [],
      'x',
      { metadata: null },
      { spec: null },
      { status: { phase: 'x' } },
      { kind: 'Foo' },
      { apiVersion: 'v2' },
      { metadata: { labels: { app: null, z: 'y' } } },
      { unknown: 1 },
      { metadata: { name: 'x' } },
      { metadata: { resourceVersion: '1' } },
      { metadata: { resourceVersion: '{rv}' } },
      { metadata: { uid: 'x' } },
      { spec: { $patch: 'replace', containers: [] } },
      { data: { $patch: 'delete' } },
      { metadata: { finalizers: ['example.com/a'], '$setElementOrder/finalizers': ['example.com/a'] } },
      { metadata: { '$deleteFromPrimitiveList/finalizers': ['example.com/a'] } },
      { $patch: 'foo' },
      { data: { $retainKeys: ['b'], b: 'x' } },
      { spec: { containers: [{ $patch: 'delete', name: 'c' }] } },
      { metadata: { ownerReferences: [{ uid: 'u', $patch: 'delete' }] } },
      { spec: { ports: [{ port: 80, name: 'q' }] } },
      { spec: { replicas: 3 } },
    ]),
  );

const OPERATIONS = ['add', 'remove', 'replace', 'move', 'copy', 'test', 'foo', ''];
const POINTERS = [
  '/metadata/labels/app',
  '/metadata/labels',
  '/spec',
  '/spec/size',
  '/data/a',
  '/data/none',
  '/none/none',
  '',
  '/',
  'metadata',
  '/metadata/labels/a~1b',
  '/spec/tags/0',
  '/spec/tags/-',
  '/spec/tags/9',
  '/spec/tags/-1',
  '/spec/containers/0/image',
  '/metadata/name',
  '/metadata/uid',
  '/metadata/resourceVersion',
  '/kind',
  '/spec/tags/x',
  '/metadata/finalizers',
  '/status',
  '/metadata/annotations/x~0y',
  '/spec/tags/01',
];
const jsonPatch: fc.Arbitrary<JsonValue> = fc.oneof(
  {
    weight: 8,
    arbitrary: fc.array(
      fc
        .tuple(pick(OPERATIONS), pick(POINTERS), pick(POINTERS), pick(values.JUNK), fc.nat(7))
        .map(([op, path, from, value, has]): JsonValue => ({
          op,
          path,
          ...(has & 1 || op === 'move' || op === 'copy' ? { from } : {}),
          ...(has & 6 ? { value: value as JsonValue } : {}),
        })),
      { minLength: 1, maxLength: 2 },
    ),
  },
  {
    weight: 1,
    arbitrary: pick<JsonValue>([
      [],
      {},
      null,
      1,
      [1],
      [null],
      [{}],
      [{ op: 'add' }],
      [{ path: '/a' }],
      { op: 'add' },
      [{ op: 1, path: '/a' }],
      [{ op: 'add', path: 1 }],
      [{ op: 'test', path: '/kind', value: 'X', extra: 1 }],
    ]),
  },
);

function patches(kind: Kind): fc.Arbitrary<FuzzRequest> {
  const path = fc.oneof(
    { weight: 8, arbitrary: OWN.map((name) => `${collection(kind)}/${name}`) },
    { weight: 2, arbitrary: subPath(kind) },
    { weight: 1, arbitrary: pick([collection(kind), everywhere(kind)]) },
  );
  const typed = pick(values.PATCH_TYPES.slice(0, 4)).chain((type) => {
    const content = type.includes('json-patch')
      ? jsonPatch
      : type.includes('apply')
        ? edits.chain((edit) => OWN.map((name) => edit(objectOf(kind, name)) as JsonValue))
        : mergePatch(kind);
    return content.map((value) => [type, JSON.stringify(value)] as const);
  });
  const sent = fc.oneof(
    { weight: 12, arbitrary: typed },
    {
      weight: 1,
      arbitrary: fc.tuple(
        pick(values.PATCH_TYPES),
        pick([
          '',
          '{',
          'null',
          '{}',
          '[]',
          'a: b',
          '{"a":1,"a":2}',
          '\u0000',
          '{"metadata":{"labels":{"a":"1","a":"2"}}}',
        ]),
      ),
    },
  );
  const asked = fc
    .tuple(query(PATCH, 2), fc.boolean())
    .map(([text, manager]) => (manager ? `${text}${text === '' ? '?' : '&'}fieldManager=m` : text));
  return fc.tuple(path, asked, accept, sent).map(([at, parameters, media, [type, text]]) => ({
    method: 'PATCH',
    path: at + parameters,
    headers: headersOf(media, type),
    body: utf8(text),
  }));
}

const OPTIONS: readonly (readonly [string, readonly unknown[]])[] = [
  ['gracePeriodSeconds', [0, 1, -1, 'x', null, 1.5]],
  ['propagationPolicy', ['Foreground', 'Background', 'Orphan', 'Foo', '', 1]],
  ['orphanDependents', [true, false, 'x', null]],
  ['dryRun', [['All'], ['Foo'], [], 'All', ['All', 'All']]],
  [
    'preconditions',
    [
      { uid: 'x' },
      { uid: '{uid}' },
      { resourceVersion: '1' },
      { resourceVersion: '{rv}' },
      { uid: 1 },
      {},
      null,
      'x',
      { extra: 1 },
    ],
  ],
  ['ignoreStoreReadErrorWithClusterBreakingPotential', [true, false, 'x']],
  ['unknown', [1]],
  ['kind', ['DeleteOptions', 'Foo', 'Pod', '']],
  ['apiVersion', ['v1', 'meta.k8s.io/v1', 'v2', 'fuzz.example.com/v1', 'apps/v1', '']],
];
const deleteOptions: fc.Arbitrary<string> = fc.oneof(
  {
    weight: 8,
    arbitrary: fc
      .tuple(
        fc.boolean(),
        fc.array(
          pick(OPTIONS).chain(([key, list]) => pick(list).map((value) => [key, value] as const)),
          { maxLength: 3 },
        ),
      )
      .map(([typed, list]) =>
        JSON.stringify({ ...(typed ? { kind: 'DeleteOptions', apiVersion: 'v1' } : {}), ...Object.fromEntries(list) }),
      ),
  },
  {
    weight: 1,
    arbitrary: pick([
      '',
      '{',
      'null',
      '[]',
      'x',
      '1',
      '{"kind":"DeleteOptions","apiVersion":"v1","gracePeriodSeconds":0,"gracePeriodSeconds":1}',
    ]),
  },
);

function deletes(kind: Kind): fc.Arbitrary<FuzzRequest> {
  const one = OWN.map((name) => `${collection(kind)}/${name}`);
  const all = query([...LIST.slice(0, 10), ...DELETE], 3).map(
    (text) => `${collection(kind)}${text}${text === '' ? '?' : '&'}labelSelector=app%3Dc`,
  );
  const path = fc.oneof(
    { weight: 8, arbitrary: fc.tuple(one, query(DELETE, 2)).map(([at, asked]) => at + asked) },
    { weight: 2, arbitrary: all },
    { weight: 1, arbitrary: subPath(kind) },
  );
  const sent = fc.option(deleteOptions, { nil: undefined, freq: 2 });
  return fc.tuple(path, accept, contentType, sent).map(([at, media, type, text]) => ({
    method: 'DELETE',
    path: at,
    headers: headersOf(media, text === undefined ? undefined : type),
    ...(text === undefined ? {} : { body: utf8(text) }),
  }));
}

/** Requests that may change something; some restore what others deleted. */
export function writes(kinds: readonly Kind[]): fc.Arbitrary<FuzzRequest> {
  const restore = (kind: Kind): fc.Arbitrary<FuzzRequest> =>
    OWN.map((name) => ({
      method: 'POST',
      path: collection(kind),
      headers: { 'content-type': 'application/json' },
      body: utf8(JSON.stringify(objectOf(kind, name))),
    }));
  const unfinalize = (kind: Kind): fc.Arbitrary<FuzzRequest> =>
    OWN.map((name) => ({
      method: 'PATCH',
      path: `${collection(kind)}/${name}`,
      headers: { 'content-type': 'application/merge-patch+json' },
      body: '{"metadata":{"finalizers":null}}',
    }));
  return pick(kinds).chain((kind) =>
    fc.oneof(
      { weight: 4, arbitrary: creates(kind) },
      { weight: 5, arbitrary: updates(kind) },
      { weight: 5, arbitrary: patches(kind) },
      { weight: 3, arbitrary: deletes(kind) },
      { weight: 3, arbitrary: restore(kind) },
      { weight: 1, arbitrary: unfinalize(kind) },
      {
        weight: 1,
        arbitrary: fc
          .tuple(oddPath(kind), pick(['POST', 'PUT', 'PATCH', 'DELETE']), body(kind, OWN))
          .map(([path, method, text]) => ({
            method,
            path,
            headers: { 'content-type': method === 'PATCH' ? 'application/merge-patch+json' : 'application/json' },
            body: text,
          })),
      },
    ),
  );
}
