import type { JsonObject, JsonValue } from '../../apimachinery/json/json.js';
import { compileRules } from './validator.js';

const string = { type: 'string', maxLength: 9 };
const integer = { type: 'integer' };
const rules = (...entries: JsonObject[]): JsonObject => ({ 'x-kubernetes-validations': entries });

const SPEC: JsonObject = {
  type: 'object',
  ...rules(
    { rule: '!has(self.min) || !has(self.max) || self.min <= self.max' },
    { rule: '!has(self.a) || self.a != 1', message: 'a must not be one' },
    {
      rule: '!has(self.a) || self.a != 2',
      messageExpression: "(has(self.b) ? self.b : 'nothing') + ' but must not be two'",
    },
    { rule: '!has(self.a) || self.a != 3', message: 'fallback message', messageExpression: "'x'.substring(5)" },
    { rule: '!has(self.a) || self.a != 4', message: 'forbidden four', reason: 'FieldValueForbidden', fieldPath: '.a' },
    { rule: '!has(self.a) || self.a != 5', message: 'required five', reason: 'FieldValueRequired', fieldPath: '.b' },
    { rule: '!has(self.a) || self.a != 6', message: 'duplicate six', reason: 'FieldValueDuplicate' },
    {
      rule: '!has(self.a) || self.a != 7',
      message: 'invalid seven',
      reason: 'FieldValueInvalid',
      fieldPath: ".map['key.x']",
    },
    { rule: '!has(self.a) || self.a != 8', messageExpression: "''" },
    { rule: '!has(self.a) || 10 / (self.a - 9) < 100' },
    { rule: '!has(self.a) || self.a != 10', messageExpression: "'line\\nbreak'" },
  ),
  properties: {
    min: integer,
    max: integer,
    a: integer,
    b: string,
    map: { type: 'object', additionalProperties: { type: 'string' } },
    mm: {
      type: 'object',
      additionalProperties: { type: 'integer', ...rules({ rule: 'self % 2 == 0', message: 'must be even' }) },
    },
    steady: { ...string, ...rules({ rule: 'self == oldSelf', message: 'steady is immutable' }) },
    grow: {
      ...integer,
      ...rules({
        rule: 'self >= oldSelf',
        messageExpression: "oldSelf - self == 1 ? 'cannot shrink by one' : 'cannot shrink'",
      }),
    },
    opt: {
      ...string,
      ...rules({ rule: "oldSelf.hasValue() || self == 'init'", message: 'must start as init', optionalOldSelf: true }),
    },
    keyed: {
      type: 'array',
      'x-kubernetes-list-type': 'map',
      'x-kubernetes-list-map-keys': ['k'],
      items: {
        type: 'object',
        properties: { k: string, v: { ...integer, ...rules({ rule: 'self == oldSelf', message: 'v is immutable' }) } },
      },
    },
    lists: {
      type: 'object',
      ...rules({ rule: 'self.set == self.other', message: 'sets differ' }),
      properties: {
        set: { type: 'array', 'x-kubernetes-list-type': 'set', items: { type: 'string' } },
        other: { type: 'array', 'x-kubernetes-list-type': 'set', items: { type: 'string' } },
      },
    },
  },
};

const SCHEMA: JsonObject = {
  type: 'object',
  ...rules({ rule: "!has(self.spec) || self.metadata.name != 'forbidden'", message: 'this name is forbidden' }),
  properties: { spec: SPEC },
};

const validator = compileRules(SCHEMA);

function errorsOf(spec: JsonValue, old?: JsonValue, ratchet = false): string[] {
  const wrap = (value: JsonValue): JsonObject => ({ metadata: { name: 'a' }, spec: value });
  const options = old === undefined ? {} : { old: wrap(old), ratchet };
  return (validator?.validate(wrap(spec), options).errors ?? []).map(String);
}

describe('rules on objects', () => {
  test.each<[string, JsonValue, string[]]>([
    ['nothing wrong', { min: 1, max: 2 }, []],
    [
      'the rule is its own message',
      { min: 3, max: 2 },
      ['spec: Invalid value: failed rule: !has(self.min) || !has(self.max) || self.min <= self.max'],
    ],
    ['message', { a: 1 }, ['spec: Invalid value: a must not be one']],
    ['messageExpression', { a: 2, b: 'bee' }, ['spec: Invalid value: bee but must not be two']],
    ['messageExpression that fails', { a: 3 }, ['spec: Invalid value: fallback message']],
    ['reason forbidden with a path', { a: 4 }, ['spec.a: Forbidden: forbidden four']],
    ['reason required', { a: 5 }, ['spec.b: Required value: required five']],
    ['reason duplicate shows no message', { a: 6 }, ['spec: Duplicate value']],
    ['path with a key', { a: 7 }, ['spec.map[key.x]: Invalid value: invalid seven']],
    ['empty messageExpression', { a: 8 }, ['spec: Invalid value: failed rule: !has(self.a) || self.a != 8']],
    [
      'failing rule',
      { a: 9 },
      ['spec: Invalid value: "object": division by zero evaluating rule: !has(self.a) || 10 / (self.a - 9) < 100'],
    ],
    ['message with a line break', { a: 10 }, ['spec: Invalid value: failed rule: !has(self.a) || self.a != 10']],
    ['scalar value is shown', { mm: { 'dotted.key': 3 } }, ['spec.mm[dotted.key]: Invalid value: 3: must be even']],
    ['sets compare without order', { lists: { set: ['a', 'b'], other: ['b', 'a'] } }, []],
    ['sets that differ', { lists: { set: ['a', 'b'], other: ['b', 'c'] } }, ['spec.lists: Invalid value: sets differ']],
    ['transition rules rest on create', { steady: 'any', grow: 1 }, []],
    ['optional old self on create', { opt: 'other' }, ['spec.opt: Invalid value: "other": must start as init']],
  ])('%s', (_, spec, expected) => {
    expect(errorsOf(spec)).toEqual(expected);
  });

  test.each<[string, JsonValue, JsonValue, string[]]>([
    ['immutable', { steady: 'x' }, { steady: 'y' }, ['spec.steady: Invalid value: "y": steady is immutable']],
    ['unchanged', { steady: 'x' }, { steady: 'x' }, []],
    ['old self in the message', { grow: 5 }, { grow: 4 }, ['spec.grow: Invalid value: 4: cannot shrink by one']],
    ['removed and set again', {}, { steady: 'new' }, []],
    [
      'keyed items are found by key',
      {
        keyed: [
          { k: 'a', v: 1 },
          { k: 'b', v: 2 },
        ],
      },
      {
        keyed: [
          { k: 'b', v: 2 },
          { k: 'a', v: 1 },
        ],
      },
      [],
    ],
    [
      'a changed keyed item',
      { keyed: [{ k: 'a', v: 1 }] },
      { keyed: [{ k: 'a', v: 9 }] },
      ['spec.keyed[0].v: Invalid value: 9: v is immutable'],
    ],
    ['a new keyed item', { keyed: [{ k: 'a', v: 1 }] }, { keyed: [{ k: 'c', v: 9 }] }, []],
  ])('update: %s', (_, old, spec, expected) => {
    expect(errorsOf(spec, old)).toEqual(expected);
  });

  test('errors of unchanged values are warnings', () => {
    const warnings: string[] = [];
    const metadata = { name: 'a' };
    const old = { metadata, spec: { mm: { k: 3 } } };
    const object = { metadata, spec: { mm: { k: 3, l: 5 }, min: 1 } };
    const result = validator?.validate(object, { old, ratchet: true, warn: (text) => warnings.push(text) });
    expect(result?.errors.map(String)).toEqual(['spec.mm[l]: Invalid value: 5: must be even']);
    expect(warnings).toEqual(['spec.mm[k]: Invalid value: 3: must be even']);
  });

  test('an exhausted budget ends the validation', () => {
    const result = validator?.validate({ metadata: { name: 'a' }, spec: { a: 1, mm: { k: 3 } } }, { budget: 8 });
    expect(result?.budget).toBe(-1);
    expect(result?.errors.map(String)).toEqual([
      'spec: Invalid value: "object": validation failed due to running out of cost budget, no further validation rules will be run',
    ]);
  });

  test('a rule over its cost limit ends the validation', () => {
    const schema = {
      type: 'object',
      properties: {
        l: {
          type: 'array',
          items: integer,
          ...rules({ rule: 'self.all(x, self.all(y, self.all(z, x + y + z >= 0)))' }),
        },
      },
    };
    const result = compileRules(schema)?.validate({ l: Array.from({ length: 200 }, (_, i) => i) });
    expect(result?.errors.map(String)).toEqual([
      `l: Invalid value: "array": 'operation cancelled: actual cost limit exceeded': no further validation rules will be run due to call cost exceeds limit for rule: self.all(x, self.all(y, self.all(z, x + y + z >= 0)))`,
    ]);
  });

  test('a set of objects cannot be compared, as in Go', () => {
    const item = { type: 'object', 'x-kubernetes-map-type': 'atomic', properties: { a: { type: 'string' } } };
    const set = { type: 'array', 'x-kubernetes-list-type': 'set', items: item, ...rules({ rule: 'self == oldSelf' }) };
    const validator = compileRules({ type: 'object', properties: { l: set } });
    const judge = (l: JsonValue, old: JsonValue): string[] | undefined =>
      validator?.validate({ l }, { old: { l: old } }).errors.map(String);
    expect(judge([], [])).toEqual([]);
    expect(judge([{ a: 'x' }], [{ a: 'x' }])).toEqual([
      'l: Invalid value: "array": listSet operations are only supported on lists of scalar values evaluating rule: self == oldSelf',
    ]);
  });

  test('an old value in an optional has its schema', () => {
    const list = {
      type: 'array',
      'x-kubernetes-list-type': 'map',
      'x-kubernetes-list-map-keys': ['k'],
      items: { type: 'object', properties: { k: integer } },
      ...rules({ rule: 'oldSelf.orValue(self) == self', optionalOldSelf: true }),
    };
    const validator = compileRules({ type: 'object', properties: { l: list } });
    const judge = (old: JsonValue | undefined): number | undefined =>
      validator?.validate({ l: [{ k: 1 }, { k: 2 }] }, old === undefined ? {} : { old: { l: old } }).errors.length;
    expect(judge(undefined)).toBe(0);
    expect(judge([{ k: 1 }, { k: 2 }])).toBe(0);
    expect(judge([{ k: 2 }, { k: 1 }])).toBe(0);
    expect(judge([{ k: 2 }, { k: 3 }])).toBe(1);
  });

  test('a schema without rules has no validator', () => {
    expect(compileRules({ type: 'object', properties: { a: integer } })).toBeUndefined();
  });
});
