import fc from 'fast-check';
import { deepCopy, type JsonObject, type JsonValue } from '../../src/apimachinery/json/json.js';
import type { FuzzRequest } from './client.js';
import { anyEdit, type Edit, edited, pathsOf, utf8 } from './mutations.js';
import { changed, drop, withVersion } from './ownership.js';
import { pick } from './parts.js';

const GROUP = 'fuzz.example.com';
const ROOT = `/apis/${GROUP}/v1/namespaces/{ns}/ratchets`;

/** A property: its schema when the objects were stored, its stricter schema now, and values of which some violate the latter. */
interface Said {
  readonly loose: JsonObject;
  readonly strict: JsonObject;
  readonly values: readonly JsonValue[];
}

const text: JsonObject = { type: 'string' };
const rule = (expression: string, more: JsonObject = {}): JsonObject => ({ rule: expression, ...more });
const object = (properties: JsonObject, more: JsonObject = {}): JsonObject => ({ type: 'object', properties, ...more });
const array = (items: JsonObject, more: JsonObject = {}): JsonObject => ({ type: 'array', items, ...more });
const keyed = (key: string, items: JsonObject, more: JsonObject = {}): JsonObject =>
  array(
    { ...items, required: [key] },
    { 'x-kubernetes-list-type': 'map', 'x-kubernetes-list-map-keys': [key], ...more },
  );
const small: JsonObject = { type: 'integer', maximum: 5 };
const whole: JsonObject = { type: 'integer' };
const open: JsonObject = { type: 'object', 'x-kubernetes-preserve-unknown-fields': true };
const RULES = 'x-kubernetes-validations';

const PROPERTIES: Readonly<Record<string, Said>> = {
  text: { loose: text, strict: { ...text, maxLength: 3, pattern: '^[a-z]+$' }, values: ['abc', 'abcd', 'ABCD', ''] },
  mode: { loose: text, strict: { ...text, enum: ['a', 'b'] }, values: ['a', 'c'] },
  count: { loose: whole, strict: { type: 'integer', maximum: 10, multipleOf: 2 }, values: [2, 3, 13] },
  ratio: { loose: { type: 'number' }, strict: { type: 'number', minimum: 1 }, values: [1.5, 0.5] },
  at: { loose: text, strict: { ...text, format: 'date-time' }, values: ['2020-01-01T00:00:00Z', 'never'] },
  needs: {
    loose: object({ a: text, b: text }),
    strict: object({ a: { ...text, maxLength: 2 }, b: text }, { required: ['b'], minProperties: 2 }),
    values: [{ a: 'x' }, { a: 'xyz', b: 'y' }, {}],
  },
  set: {
    loose: array(text),
    strict: array({ ...text, maxLength: 2 }, { 'x-kubernetes-list-type': 'set', maxItems: 3 }),
    values: [
      ['a', 'b'],
      ['a', 'a'],
      ['aaa', 'b'],
      ['a', 'b', 'c', 'd'],
    ],
  },
  atomic: {
    loose: array(object({ size: whole, tag: text })),
    strict: array(object({ size: small, tag: text }, { required: ['tag'] }), { maxItems: 2 }),
    values: [[{ size: 1, tag: 'x' }], [{ size: 9 }, { size: 1 }], [{ size: 9, tag: 'x' }, { size: 8, tag: 'y' }, {}]],
  },
  keyed: {
    loose: keyed('name', object({ name: text, size: whole, tag: text })),
    strict: keyed('name', object({ name: { ...text, maxLength: 2 }, size: small, tag: { ...text, enum: ['t'] } }), {
      maxItems: 3,
      [RULES]: [rule('self.all(x, !has(x.size) || x.size < 8)', { message: 'sizes' })],
    }),
    values: [
      [{ name: 'a', size: 1 }],
      [{ name: 'a', size: 9, tag: 'u' }, { name: 'bbb' }],
      [{ name: 'a', size: 7 }, { name: 'b', size: 6, tag: 't' }, { name: 'c' }, { name: 'd' }],
    ],
  },
  twice: {
    loose: array(object({ id: text, v: whole }, { required: ['id'] })),
    strict: keyed('id', object({ id: text, v: small })),
    values: [
      [{ id: 'a', v: 1 }],
      [
        { id: 'a', v: 9 },
        { id: 'a', v: 2 },
      ],
      [
        { id: 'a', v: 9 },
        { id: 'b', v: 8 },
      ],
    ],
  },
  deep: {
    loose: keyed('name', object({ name: text, inner: keyed('id', object({ id: whole, v: text })) })),
    strict: keyed(
      'name',
      object({ name: text, inner: keyed('id', object({ id: small, v: { ...text, maxLength: 2 } })) }),
    ),
    values: [
      [{ name: 'a', inner: [{ id: 1, v: 'x' }] }],
      [
        {
          name: 'a',
          inner: [
            { id: 1, v: 'xyz' },
            { id: 9, v: 'x' },
          ],
        },
        { name: 'b', inner: [{ id: 1, v: 'long' }] },
      ],
    ],
  },
  lists: {
    loose: array(array(text)),
    strict: array(array({ ...text, maxLength: 2 }, { maxItems: 2 })),
    values: [[['a']], [['abc'], ['a', 'b', 'c']]],
  },
  map: {
    loose: { type: 'object', additionalProperties: text },
    strict: { type: 'object', additionalProperties: { ...text, maxLength: 2 }, maxProperties: 2 },
    values: [{ a: 'x' }, { a: 'xyz', b: 'y' }, { a: 'x', b: 'y', c: 'xyz' }],
  },
  maps: {
    loose: { type: 'object', additionalProperties: object({ size: whole, tag: text }) },
    strict: {
      type: 'object',
      additionalProperties: object(
        { size: small, tag: text },
        { required: ['tag'], [RULES]: [rule('self.size != 7')] },
      ),
    },
    values: [{ a: { size: 1, tag: 'x' } }, { a: { size: 9 }, b: { size: 7, tag: 'x' } }],
  },
  logic: {
    loose: object({ a: text, b: text, c: text }),
    strict: object(
      { a: text, b: text, c: text },
      {
        oneOf: [{ required: ['a'] }, { required: ['b'] }],
        anyOf: [{ properties: { c: { maxLength: 2 } } }, { required: ['a'] }],
        not: { required: ['a', 'c'] },
        allOf: [{ properties: { b: { minLength: 2 } } }],
      },
    ),
    values: [{ a: 'x' }, { a: 'x', b: 'y' }, { c: 'xyz' }, { a: 'x', c: 'z' }],
  },
  either: {
    loose: { 'x-kubernetes-int-or-string': true },
    strict: { 'x-kubernetes-int-or-string': true, maximum: 5, pattern: '^x' },
    values: [1, 9, 'x', 'y'],
  },
  maybe: { loose: { ...text, nullable: true }, strict: { ...text, maxLength: 2 }, values: [null, 'x', 'xyz'] },
  retyped: { loose: text, strict: whole, values: ['x', '1'] },
  reshaped: { loose: object({ a: text }), strict: text, values: [{ a: 'x' }, {}] },
  gone: { loose: text, strict: { type: 'object' }, values: ['x'] },
  closed: {
    loose: open,
    strict: object({ a: small, b: { ...text, default: 'set' }, c: object({ d: text }, { required: ['d'] }) }),
    values: [{ a: 1 }, { a: 9, x: 1 }, { a: 'x', c: {} }, { c: { e: 1 } }],
  },
  embedded: {
    loose: open,
    strict: { ...open, 'x-kubernetes-embedded-resource': true },
    values: [
      { apiVersion: 'v1', kind: 'Pod', metadata: { name: 'x' } },
      { kind: 'P p', metadata: { name: 'A_b', labels: { 'a b': 'c' } } },
      { apiVersion: 'a/b/c', kind: 'x', metadata: { labels: { a: '-' } } },
    ],
  },
  ruled: {
    loose: object({ a: whole, b: whole, list: array(whole) }),
    strict: object(
      {
        a: { ...whole, [RULES]: [rule('self < 5', { reason: 'FieldValueForbidden' })] },
        b: { ...whole, [RULES]: [rule('self >= oldSelf', { message: 'b shrinks' })] },
        list: array({ ...whole, [RULES]: [rule('self < 5')] }, { [RULES]: [rule('self.size() < 3')], maxItems: 9 }),
      },
      {
        [RULES]: [
          rule('!has(self.a) || !has(self.b) || self.a <= self.b', { messageExpression: "'a exceeds ' + 'b'" }),
          rule('has(self.b)', { fieldPath: '.b', message: 'b is missing' }),
          rule('!oldSelf.hasValue() || has(self.a)', { optionalOldSelf: true, message: 'a once set' }),
        ],
      },
    ),
    values: [{ a: 1, b: 2 }, { a: 9, b: 1 }, { a: 7 }, { a: 1, b: 2, list: [1, 9] }, { b: 1, list: [1, 2, 3, 9] }],
  },
};

const ADDED: JsonObject = { late: { ...text, default: 'late' }, must: text };

const specOf = (which: 'loose' | 'strict'): JsonObject =>
  object(
    {
      ...Object.fromEntries(Object.entries(PROPERTIES).map(([name, said]) => [name, said[which]])),
      ...(which === 'strict' ? ADDED : {}),
    },
    which === 'strict' ? { required: ['must'], maxProperties: 12 } : {},
  );

const definition = (which: 'loose' | 'strict'): JsonObject => ({
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  metadata: { name: `ratchets.${GROUP}` },
  spec: {
    group: GROUP,
    scope: 'Namespaced',
    names: { plural: 'ratchets', singular: 'ratchet', kind: 'Ratchet', listKind: 'RatchetList' },
    versions: [
      {
        name: 'v1',
        served: true,
        storage: true,
        schema: { openAPIV3Schema: object({ spec: specOf(which), status: specOf(which) }) },
        subresources: { status: {} },
      },
    ],
  },
});

export const LOOSE = definition('loose');
export const STRICT = definition('strict');

/** Properties whose type changed. Objects that have one can no longer be applied at all, so few have one. */
const RETYPED = ['retyped', 'reshaped', 'gone'];
const KEPT = Object.keys(PROPERTIES).filter((name) => !RETYPED.includes(name));

const content: fc.Arbitrary<JsonObject> = fc
  .tuple(fc.subarray(KEPT, { minLength: 1, maxLength: 14 }), pick([[], [], [], [], [], [], [], RETYPED]))
  .chain(([kept, retyped]) => {
    const names = [...kept, ...retyped];
    return fc.tuple(...names.map((name) => pick(PROPERTIES[name]?.values ?? []).map((value) => [name, value])));
  })
  .map((entries) => deepCopy(Object.fromEntries(entries) as JsonObject));

const NAMES: readonly string[] = Array.from({ length: 60 }, (_, i) => `r${String(i)}`);

/** The objects stored before the definition became stricter. */
export const STORED: readonly JsonObject[] = fc
  .sample(fc.tuple(content, content), { numRuns: NAMES.length, seed: 4 })
  .map(([spec, status], i) => ({
    apiVersion: `${GROUP}/v1`,
    kind: 'Ratchet',
    metadata: { name: NAMES[i] },
    spec,
    status,
  }));

const below = (path: readonly string[]): boolean => path[0] === 'spec' || path[0] === 'status';

/** Changes a value somewhere below spec or status. */
const change: fc.Arbitrary<Edit> = fc.tuple(fc.nat(1000), fc.nat(3)).map(([at, by]): Edit => (one) => {
  const paths = pathsOf(one).filter((path) => below(path.map(String)) && path.length > 1);
  const path = paths[at % paths.length];
  if (path === undefined) return one;
  return edited(one, path, (container, key) => {
    container[key] = changed(container[key] as JsonValue, by);
  });
});

/** Sets a property, which the object may lack, to one of its possible values. */
const replace: fc.Arbitrary<Edit> = fc
  .constantFrom(...Object.keys(PROPERTIES), 'must', 'late')
  .chain((name) =>
    fc.tuple(pick(['spec', 'spec', 'status']), pick(PROPERTIES[name]?.values ?? ['x', 1]), fc.constant(name)),
  )
  .map(
    ([part, value, name]): Edit =>
      (one) =>
        edited(one, [part, name], (container, key) => {
          container[key] = deepCopy(value);
        }),
  );

/** Reverses a list. */
const turn: fc.Arbitrary<Edit> = fc.nat(1000).map((at): Edit => (one) => {
  const paths = pathsOf(one).filter((path) => below(path.map(String)));
  let list: JsonValue[] = [];
  const copy = deepCopy(one);
  const lists = paths.flatMap((path) => {
    let value: JsonValue | undefined = copy;
    for (const key of path)
      value = typeof value === 'object' && value !== null ? (value as JsonObject)[key] : undefined;
    return Array.isArray(value) ? [value] : [];
  });
  list = lists[at % Math.max(lists.length, 1)] ?? list;
  list.reverse();
  return copy;
});

const must: Edit = (one) => edited(edited(one, ['spec', 'must'], set('x')), ['status', 'must'], set('x'));

function set(value: JsonValue): (container: Record<string, unknown>, key: string) => void {
  return (container, key) => {
    container[key] = value;
  };
}

const edits: fc.Arbitrary<Edit> = fc
  .tuple(
    fc.array(
      fc.oneof(
        { weight: 5, arbitrary: change },
        { weight: 4, arbitrary: drop },
        { weight: 4, arbitrary: replace },
        { weight: 2, arbitrary: turn },
        { weight: 1, arbitrary: anyEdit },
      ),
      { maxLength: 3 },
    ),
    fc.nat(3),
  )
  .map(
    ([list, odds]): Edit =>
      (one) =>
        list.reduce((value, edit) => edit(value), odds === 0 ? one : must(one)),
  );

/** Returns a patch of a single property, as sent by a client that knows no other. */
const partOf = (one: JsonObject, at: number): JsonObject => {
  const part = one['spec'];
  if (typeof part !== 'object' || part === null || Array.isArray(part)) return { spec: part ?? null };
  const names = Object.keys(part);
  const name = names[at % Math.max(names.length, 1)];
  return name === undefined ? {} : { spec: { [name]: part[name], must: 'x' } };
};

/** Dry-run writes of objects that were valid when they were stored, and no longer are. */
export const ratcheting: fc.Arbitrary<FuzzRequest> = fc
  .tuple(
    fc.nat(NAMES.length - 1),
    edits,
    fc.nat(1000),
    pick(['', '', '/status']),
    pick(['put', 'put', 'merge', 'part', 'apply', 'apply', 'json']),
  )
  .map(([index, edit, at, sub, how]) => {
    const wanted = edit(STORED[index] ?? {});
    const path = `${ROOT}/${NAMES[index] ?? ''}${sub}?dryRun=All&fieldManager=m`;
    const patch = (type: string, body: JsonValue, more = ''): FuzzRequest => ({
      method: 'PATCH',
      path: path + more,
      headers: { 'content-type': `application/${type}` },
      body: utf8(JSON.stringify(body)),
    });
    if (how === 'merge') return patch('merge-patch+json', wanted);
    if (how === 'part') return patch('merge-patch+json', partOf(wanted, at));
    if (how === 'apply')
      return patch('apply-patch+yaml', at % 3 === 0 ? { ...wanted, ...partOf(wanted, at) } : wanted, '&force=true');
    if (how === 'json') return patch('json-patch+json', [{ op: 'add', path: '/spec', value: wanted['spec'] ?? null }]);
    return {
      method: 'PUT',
      path,
      headers: { 'content-type': 'application/json' },
      body: utf8(JSON.stringify(withVersion(wanted))),
    };
  });
