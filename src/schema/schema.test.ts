import fc from 'fast-check';
import { type JsonObject, type JsonValue, deepCopy, deepEqual } from '../apimachinery/json/json.js';
import { growth } from '../../test/fakes/util/growth.js';
import { CompiledSchema } from './compile.js';
import { JsonPath } from './columns/json-path.js';
import { JsonPathError } from './columns/json-path-parser.js';
import { MAX_SCHEMA_DEPTH, SchemaTooDeepError } from './node.js';
import { patternFor } from '@annex/cel/re2';
import { MAX_ERRORS } from './walk.js';

const object = (properties: JsonObject, more: JsonObject = {}): JsonObject => ({ type: 'object', properties, ...more });
const text: JsonObject = { type: 'string' };
const array = (items: JsonObject, more: JsonObject = {}): JsonObject => ({ type: 'array', items, ...more });

describe('pruning', () => {
  const schema = new CompiledSchema(
    object({
      spec: object({
        a: text,
        list: array(object({ b: text })),
        map: { type: 'object', additionalProperties: object({ c: text }) },
      }),
      open: object({ in: object({ a: text }) }, { 'x-kubernetes-preserve-unknown-fields': true }),
    }),
  );

  test('removes unknown fields, and lists their paths in order', () => {
    const value: JsonObject = {
      apiVersion: 'v1',
      kind: 'X',
      metadata: { anything: 1 },
      zero: 1,
      spec: { a: 'x', z: { deep: 1 }, list: [{ b: 'x' }, { b: 'y', q: 1 }], map: { k: { c: 'x', d: 1 } } },
      open: { any: { thing: 1 }, in: { a: 'x', b: 1 } },
    };
    expect(schema.prune(value, 'collect')).toEqual(['open.in.b', 'spec.list[1].q', 'spec.map.k.d', 'spec.z', 'zero']);
    expect(value).toEqual({
      apiVersion: 'v1',
      kind: 'X',
      metadata: { anything: 1 },
      spec: { a: 'x', list: [{ b: 'x' }, { b: 'y' }], map: { k: { c: 'x' } } },
      open: { any: { thing: 1 }, in: { a: 'x' } },
    });
  });

  test('treats names of inherited members as ordinary keys', () => {
    const value: JsonObject = { spec: { a: 'x', constructor: 1, toString: 2 } };
    value['__proto__'] = { x: 1 };
    expect(schema.prune(value, 'collect')).toEqual(['__proto__', 'spec.constructor', 'spec.toString']);
    expect(value).toEqual({ spec: { a: 'x' } });
    const required = new CompiledSchema(object({}, { required: ['toString', '__proto__'] }));
    expect(required.validate({}, {}).map(String)).toEqual(['toString: Required value', '__proto__: Required value']);
  });

  test('is idempotent, and leaves no unknown fields', () => {
    const leaf = fc.oneof(fc.integer(), fc.string(), fc.constant(null), fc.boolean());
    const value = fc.letrec<{ node: JsonValue }>((tie) => ({
      node: fc.oneof(
        { depthSize: 'small' },
        leaf,
        fc.array(tie('node'), { maxLength: 3 }),
        fc.dictionary(fc.constantFrom('spec', 'a', 'b', 'list', 'map', 'open', 'in', 'q'), tie('node'), { maxKeys: 4 }),
      ),
    })).node;
    fc.assert(
      fc.property(fc.dictionary(fc.constantFrom('spec', 'open', 'q'), value), (generated) => {
        const once = deepCopy(generated as JsonObject);
        schema.prune(once, 'collect');
        const twice = deepCopy(once);
        return schema.prune(twice, 'collect').length === 0 && deepEqual(once, twice);
      }),
    );
  });
});

describe('defaults', () => {
  const schema = new CompiledSchema(
    object({
      spec: object(
        {
          n: { type: 'integer', default: 1 },
          o: object({ x: { ...text, default: 'd' } }, { default: { x: 'e', y: 1 } }),
        },
        { default: {} },
      ),
    }),
  );

  test('are set within defaults, as copies, without fields that the schema prunes', () => {
    const first: JsonObject = {};
    const second: JsonObject = {};
    schema.applyDefaults(first);
    schema.applyDefaults(second);
    expect(first).toEqual({ spec: { n: 1, o: { x: 'e' } } });
    (first['spec'] as JsonObject)['n'] = 2;
    expect(second).toEqual({ spec: { n: 1, o: { x: 'e' } } });
  });
});

describe('hostile input', () => {
  test('an exponential pattern takes linear time', () => {
    const schema = new CompiledSchema(object({ x: { type: 'string', pattern: '^(a+)+$' } }));
    expect(
      growth(200_000, (size) => {
        const value = { x: `${'a'.repeat(size)}!` };
        return () => schema.validate(value, {});
      }),
    ).toBeLessThanOrEqual(1);
  });

  test('errors are bounded, and a last one reports it', () => {
    const schema = new CompiledSchema(object({ x: array({ type: 'integer' }) }));
    const errors = schema.validate({ x: Array.from({ length: MAX_ERRORS * 3 }, () => 'x') }, {});
    expect(errors).toHaveLength(MAX_ERRORS + 1);
    expect(String(errors.at(-1))).toBe(
      `<nil>: Invalid value: "": only the first ${String(MAX_ERRORS)} errors are shown`,
    );
  });

  test('alternatives times items are bounded, and an error reports it', () => {
    const alternatives = Array.from({ length: 1000 }, (_, i) => ({ properties: { a: { enum: [`v${String(i)}`] } } }));
    const schema = new CompiledSchema(object({ x: array(object({ a: text }, { anyOf: alternatives })) }));
    const errors = schema.validate({ x: Array.from({ length: 10_000 }, () => ({ a: 'none' })) }, {});
    expect(String(errors.at(-1))).toBe('<nil>: Invalid value: "": validating the object exceeds the cost limit');
  });

  test('the list of unknown fields is bounded, and its end reports it', () => {
    const schema = new CompiledSchema(object({}));
    const value: JsonObject = {};
    for (let i = 0; i < 12_000; i++) value[`f${String(i)}`] = 1;
    const paths = schema.prune(value, 'collect');
    expect(paths.at(-1)).toBe('… and 2000 more');
    expect(value).toEqual({});
  });

  test('schemas nested too deeply are refused', () => {
    let schema: JsonObject = text;
    for (let i = 0; i <= MAX_SCHEMA_DEPTH; i++) schema = object({ a: schema });
    expect(() => new CompiledSchema(schema)).toThrow(SchemaTooDeepError);
  });

  test('deeply nested objects are walked only as deep as the schema', () => {
    let value: JsonValue = 1;
    for (let i = 0; i < 20_000; i++) value = [value];
    const schema = new CompiledSchema(object({ x: array(text) }));
    expect(schema.validate({ x: value }, {})).toHaveLength(1);
  });
});

describe('patterns', () => {
  test('are shared', () => {
    expect(patternFor('^a$')).toBe(patternFor('^a$'));
  });

  test.each(['(?=a)', '[', 'a**', '(a)\\1'])('%s is not a pattern', (pattern) => {
    expect(patternFor(pattern).error()).toMatch(/^error parsing regexp: /);
    expect(patternFor(pattern).matches('a')).toBe(false);
  });
});

describe('paths', () => {
  const value: JsonObject = {
    a: {
      list: [
        { n: 'x', v: 1 },
        { n: 'y', v: 2.5 },
      ],
    },
    'b.c': 'dotted',
    t: true,
  };

  test.each<[string, JsonValue | undefined]>([
    ['.a.list[0].n', 'x'],
    ['.a.list[-1:].n', 'y'],
    ['.a.list[*].n', 'x'],
    ['.a.list[?(@.n=="y")].v', 2.5],
    ["['b.c']", undefined],
    ['.b\\.c', 'dotted'],
    ['..n', 'x'],
    ['.a.list[5].n', undefined],
    ['.a.list[?(@.v>1)].n', undefined],
    ['.missing.deeper', undefined],
    ['.a.list[1,0].n', 'y'],
    ['.t', true],
  ])('%s', (path, wanted) => {
    expect(new JsonPath(path).first(value)).toEqual(wanted);
  });

  test.each(['.a[', '.a[?(', '.a[x]', '.a..b...c', '.a{'])('%s is refused or finds nothing', (path) => {
    let found: JsonValue | undefined;
    try {
      found = new JsonPath(path).first(value);
    } catch (error) {
      expect(error).toBeInstanceOf(JsonPathError);
    }
    expect(found).toBeUndefined();
  });
});
