import fc from 'fast-check';
import { kubernetesEnvironment, SchemaTypes, types } from '@annex/cel';
import { parseJson } from '../apimachinery/json/decode.js';
import { type JsonObject, type JsonValue, stringifyJson } from '../apimachinery/json/json.js';
import { FieldTree, fieldsOf } from './field-paths.js';
import { scanFields } from './scan.js';

function treeOf(paths: readonly (readonly string[])[]): FieldTree {
  const tree = new FieldTree('');
  for (const path of paths) tree.add(path);
  return tree;
}

/** Cuts the fields out of a decoded object. */
function cut(object: JsonObject, { children }: FieldTree): JsonObject {
  const out: JsonObject = {};
  for (const child of children) {
    const value: JsonValue | undefined = Object.hasOwn(object, child.key) ? object[child.key] : undefined;
    if (value === undefined) continue;
    const isObject = typeof value === 'object' && value !== null && !Array.isArray(value);
    out[child.key] = child.whole || !isObject ? value : cut(value, child);
  }
  return out;
}

const names = fc.constantFrom('a', 'b', 'ab', 'é', '"', '\\', 'a"b', '😀', '', 'metadata');
const scalars = fc.oneof(
  fc.constant(null),
  fc.boolean(),
  fc.integer(),
  fc.double({ noNaN: true, noDefaultInfinity: true }),
  fc.bigInt({ min: 2n ** 53n, max: 2n ** 63n - 1n }),
  fc.string(),
  fc.constantFrom('}', '"', '\\', '\\"', '],{', '\u2028', '😀\n', '1234567890123456789'),
);
const { value: values } = fc.letrec<{ value: JsonValue; object: JsonObject }>((tie) => ({
  value: fc.oneof({ depthSize: 'small' }, scalars, fc.array(tie('value'), { maxLength: 3 }), tie('object')),
  object: fc.dictionary(names, tie('value'), { maxKeys: 5 }),
}));
const objects = fc.dictionary(names, values, { maxKeys: 6 });
const paths = fc.array(fc.array(names, { minLength: 1, maxLength: 3 }), { minLength: 1, maxLength: 4 });

test('cuts the fields out of the bytes as out of the object', () => {
  fc.assert(
    fc.property(objects, paths, (object, wanted) => {
      const tree = treeOf(wanted);
      const text = stringifyJson(object);
      expect(scanFields(Buffer.from(text), tree)).toEqual(cut(parseJson(text) as JsonObject, tree));
    }),
    { numRuns: 2000, seed: Number(process.env['FC_SEED'] ?? 1) },
  );
});

test.each(['', '{', '{"a"', '{"a":', '{"a":1', '{"a":"x', '{"a" :1}', '{"b":[1,{"x":2}', '[]', '{"a":1]'])(
  'leaves to others what is not as the server writes it: %s',
  (text) => {
    expect(scanFields(Buffer.from(text), treeOf([['a'], ['z']]))).toBeUndefined();
  },
);

test('does not read on behind the last field', () => {
  expect(
    scanFields(
      Buffer.from('{"a":{"b":1},"c":{"d":2,broken'),
      treeOf([
        ['a', 'b'],
        ['c', 'd'],
      ]),
    ),
  ).toEqual({
    a: { b: 1 },
    c: { d: 2 },
  });
});

describe('the fields of an expression', () => {
  const registry = new SchemaTypes('T');
  const strings = { type: 'object', additionalProperties: { type: 'string' } };
  const item = { type: 'object', properties: { x: { type: 'integer' } } };
  const spec = {
    type: 'object',
    properties: {
      a: { type: 'integer' },
      'b-c': { type: 'integer' },
      namespace: { type: 'string' },
      labels: strings,
      items: { type: 'array', items: item },
      any: { 'x-kubernetes-int-or-string': true },
    },
  };
  const declared = registry.declare({ type: 'object', properties: { spec } }, 'resource');
  const environment = kubernetesEnvironment('stored').extend(
    [
      { name: 'object', type: declared?.type ?? types.DYN },
      { name: 'now', type: types.TIMESTAMP },
    ],
    (name) => registry.struct(name),
  );
  const shown = ({ key, whole, children }: FieldTree): string =>
    `${key}${whole ? '' : `(${children.map(shown).join(' ')})`}`;

  test.each([
    ['object.spec.a > 1 && object.metadata.name != ""', '(spec(a) metadata(name))'],
    ['has(object.spec.a)', '(spec(a))'],
    ['object.spec.b__dash__c == 1', '(spec(b-c))'],
    ['object.spec.namespace == object.spec.__namespace__', '(spec(namespace))'],
    ["object.spec.labels['x/y'] == object.spec.labels.z", '(spec(labels(x/y z)))'],
    ['object.spec.labels[object.metadata.name] == ""', '(spec(labels) metadata(name))'],
    ['object.?spec.?labels[?"q"].hasValue()', '(spec(labels(q)))'],
    ['object.spec.items.exists(i, i.x > object.spec.a)', '(spec(items a))'],
    ['object.spec.items[0].x == 1', '(spec(items))'],
    ['object.spec.a == 1 || object.spec == object.spec', '(spec)'],
    ["object.spec.any == 'x'", '(spec(any))'],
    ["{'k': object.spec.a}.size() == 1", '(spec(a))'],
    ['now == now', '()'],
    ['object == object', undefined],
    ['[1].all(object, object > 0)', undefined],
    ["object.spec.labels['__proto__'] == ''", undefined],
  ])('%s', (source, expected) => {
    const { program, failure } = environment.compile(source);
    expect(failure?.text).toBeUndefined();
    const fields = program && fieldsOf(program.expr);
    expect(fields && shown(fields)).toBe(expected);
  });
});
