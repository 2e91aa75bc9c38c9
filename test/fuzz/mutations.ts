import fc from 'fast-check';
import type { JsonObject, JsonValue } from '../../src/apimachinery/json/json.js';
import { type Kind, objectOf } from './fixtures.js';
import { pick } from './parts.js';
import * as values from './values.js';

export type Path = readonly (string | number)[];

export function pathsOf(value: JsonValue, at: Path = []): Path[] {
  const here: Path[] = at.length === 0 ? [] : [at];
  if (Array.isArray(value)) return [...here, ...value.flatMap((one, i) => pathsOf(one, [...at, i]))];
  if (typeof value === 'object' && value !== null)
    return [...here, ...Object.entries(value).flatMap(([key, one]) => pathsOf(one ?? null, [...at, key]))];
  return here;
}

/** Returns a copy with `edit` applied to the container of `path`. */
export function edited(
  root: JsonObject,
  path: Path,
  edit: (container: Record<string, unknown>, key: string) => void,
): JsonObject {
  const copy = structuredClone(root);
  let at: unknown = copy;
  for (const key of path.slice(0, -1)) at = (at as Record<string, unknown>)[key];
  if (typeof at === 'object' && at !== null) edit(at as Record<string, unknown>, String(path.at(-1)));
  return copy;
}

export const METADATA: readonly (readonly [string, readonly unknown[]])[] = [
  ['name', ['', 'W1', 'w1.', '-a', 'x'.repeat(254), 'a/b', '..', null, 1, 'other']],
  ['generateName', ['g-', 'G-', 'x'.repeat(300), '', 1, '-']],
  ['namespace', ['', 'other', 'A_b', null, 1]],
  ['uid', ['', 'x', '{uid}', 1]],
  ['resourceVersion', ['', '0', '1', 'abc', '{rv}', '{rv}', 1, null, '-1', '01']],
  ['generation', [0, 5, -1, 'x', 1.5]],
  ['creationTimestamp', [null, '2020-01-01T00:00:00Z', 'x', 1]],
  ['deletionTimestamp', [null, '2020-01-01T00:00:00Z', 'x']],
  ['deletionGracePeriodSeconds', [0, 5, -1, 'x']],
  ['selfLink', ['/x']],
  [
    'labels',
    [
      { 'A B': 'x' },
      { a: 'b c' },
      { a: 'x'.repeat(64) },
      { 'a/b/c': 'd' },
      { '/a': '' },
      { '': '' },
      { 'EXAMPLE.com/a': '' },
      { a: 1 },
      { a: null },
      null,
      [],
      { ['x'.repeat(254) + '/a']: '' },
      { a: '-' },
    ],
  ],
  [
    'annotations',
    [
      { 'A B': 'x' },
      { a: 'x'.repeat(262_145) },
      { 'a/b/c': 'd' },
      { 'Example.COM/a': '' },
      { '': '' },
      { a: 1 },
      { a: null },
      { ['x'.repeat(64)]: '' },
      'x',
    ],
  ],
  [
    'finalizers',
    [
      ['example.com/a'],
      ['a'],
      ['A b'],
      [''],
      ['orphan', 'foregroundDeletion'],
      ['orphan'],
      ['example.com/a', 'example.com/a'],
      ['kubernetes'],
      [1],
      'x',
      [null],
    ],
  ],
  [
    'ownerReferences',
    [
      [{}],
      [{ apiVersion: 'v1', kind: 'ConfigMap', name: 'w1', uid: 'u' }],
      [
        { apiVersion: 'v1', kind: 'ConfigMap', name: 'w1', uid: 'u', controller: true },
        { apiVersion: 'v1', kind: 'ConfigMap', name: 'w2', uid: 'v', controller: true },
      ],
      [{ apiVersion: 'v1', kind: 'Event', name: 'w1', uid: 'u' }],
      [{ apiVersion: 'a/b/c', kind: '', name: '', uid: '' }],
      [{ apiVersion: 'v1', kind: 'Pod', name: 'x', uid: 'u', extra: 1 }],
      [
        { apiVersion: 'v1', kind: 'ConfigMap', name: 'w1', uid: 'u' },
        { apiVersion: 'v1', kind: 'ConfigMap', name: 'w1', uid: 'u' },
      ],
      [{ apiVersion: '', kind: 'Pod', name: 'x', uid: 'u', blockOwnerDeletion: 'x' }],
    ],
  ],
  [
    'managedFields',
    [
      [{}],
      [],
      null,
      [{ manager: 'x' }],
      [{ manager: 'x', operation: 'Foo', apiVersion: 'v1', fieldsType: 'FieldsV1', fieldsV1: {} }],
      [{ manager: 'm', operation: 'Update', apiVersion: 'v1', fieldsType: 'FieldsV2', fieldsV1: {} }],
      [
        {
          manager: 'm',
          operation: 'Update',
          apiVersion: 'v1',
          time: '2020-01-01T00:00:00Z',
          fieldsType: 'FieldsV1',
          fieldsV1: { 'f:data': {} },
        },
      ],
      [{ manager: 'm', operation: 'Update', apiVersion: 'v1', fieldsType: 'FieldsV1', fieldsV1: { bad: {} } }],
      [{ manager: 'x'.repeat(129), operation: 'Apply', apiVersion: 'v1' }],
      'x',
    ],
  ],
  ['unknown', ['x', 1]],
];

export type Edit = (object: JsonObject) => JsonObject;
export const metadataEdit: fc.Arbitrary<Edit> = pick(METADATA).chain(([field, list]) =>
  pick(list).map(
    (value): Edit =>
      (object) =>
        edited(object, ['metadata', field], (container, key) => {
          container[key] = value;
        }),
  ),
);
export const anyEdit: fc.Arbitrary<Edit> = fc
  .tuple(
    fc.nat(1000),
    fc.oneof(
      { weight: 3, arbitrary: pick(['junk', 'junk', 'junk']) },
      { weight: 2, arbitrary: pick(['drop', 'unknown']) },
    ),
    pick(values.JUNK),
  )
  .map(([at, how, junk]): Edit => (object) => {
    const paths = pathsOf(object);
    const path = paths[at % paths.length] ?? ['metadata'];
    return edited(object, path, (container, key) => {
      if (how === 'junk') container[key] = junk;
      else if (how === 'unknown') container[`un${key}`] = junk;
      else if (Array.isArray(container)) container.splice(Number(key), 1);
      else Reflect.deleteProperty(container, key);
    });
  });
export const typeEdit: fc.Arbitrary<Edit> = fc
  .tuple(pick(['apiVersion', 'kind']), pick(['', 'v1', 'v2', 'Foo', 'a/b/c', 'fuzz.example.com/v1', 1, null]))
  .map(
    ([key, value]): Edit =>
      (object) =>
        edited(object, [key], (container) => {
          container[key] = value;
        }),
  );

export const edits: fc.Arbitrary<Edit> = fc
  .array(
    fc.oneof(
      { weight: 4, arbitrary: anyEdit },
      { weight: 4, arbitrary: metadataEdit },
      { weight: 1, arbitrary: typeEdit },
    ),
    { maxLength: 2 },
  )
  .map(
    (list): Edit =>
      (object) =>
        list.reduce((value, one) => one(value), object),
  );

export const utf8 = (text: string): string => Buffer.from(text, 'utf8').toString('latin1');

/** Returns the text of a body: occasionally broken, doubled, or of another object. */
export const texts: fc.Arbitrary<(object: JsonObject) => string> = fc.oneof(
  { weight: 30, arbitrary: fc.constant((object: JsonObject) => JSON.stringify(object)) },
  { weight: 2, arbitrary: fc.nat(100).map((at) => (object: JsonObject) => JSON.stringify(object).slice(0, at)) },
  {
    weight: 2,
    arbitrary: fc.constant((object: JsonObject) => JSON.stringify(object).replace('{"', '{"kind":"Twice","')),
  },
  {
    weight: 2,
    arbitrary: fc.constant((object: JsonObject) =>
      JSON.stringify(object).replace('"metadata":{', '"metadata":{"name":"twice","labels":{"a":"b","a":"c"},'),
    ),
  },
  {
    weight: 1,
    arbitrary: pick([
      '',
      ' ',
      '{}',
      'null',
      '[]',
      '1',
      '"x"',
      '{',
      '}',
      'a: b',
      '- a',
      '{"a":1}{"b":2}',
      '\u00ff\u00fe',
      '{"apiVersion":"v1"}',
      'k8s\u0000',
      '{"kind":"Status","apiVersion":"v1"}',
      '{"a":"\u0001"}',
      '{"spec":{"size":1,"size":2}}',
      '%',
      '\t',
      '!!binary x',
      '{"metadata":1}',
      '{"metadata":{"name":"w1"}} x',
    ]).map((text) => () => text),
  },
);

export const body = (kind: Kind, name: fc.Arbitrary<string>): fc.Arbitrary<string> =>
  fc.tuple(name, edits, texts).map(([own, edit, text]) => utf8(text(edit(objectOf(kind, own)))));
