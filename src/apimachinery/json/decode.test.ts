import fc from 'fast-check';
import { decodeDetailed, duplicateFieldErrors, interpretTypeMeta, parseJson } from './decode.js';
import { type JsonValue, stringifyJson } from './json.js';

describe('parseJson', () => {
  const numbers: [string, JsonValue][] = [
    ['1', 1],
    ['1.0', 1],
    ['-0', 0],
    ['1e3', 1000],
    ['9007199254740991', 9007199254740991],
    ['9007199254740993', 9007199254740993n],
    ['-9223372036854775808', -9223372036854775808n],
    ['9223372036854775808', 2 ** 63],
    ['0.1', 0.1],
    ['12345678901234567.5', Number('12345678901234567.5')],
  ];
  test.each(numbers)('number %s', (text, value) => {
    const parsed = parseJson(`{"a":[${text}]}`) as { a: JsonValue[] };
    expect(typeof parsed.a[0]).toBe(typeof value);
    expect(parsed.a[0] == value).toBe(true);
  });

  const errors: [string, string][] = [
    ['', 'unexpected end of JSON input'],
    ['not json', "invalid character 'o' in literal null (expecting 'u')"],
    ['x', "invalid character 'x' looking for beginning of value"],
    ['{', 'unexpected end of JSON input'],
    ['{"a"', 'unexpected end of JSON input'],
    ['{"a" 1}', "invalid character '1' after object key"],
    ['{a:1}', "invalid character 'a' looking for beginning of object key string"],
    ['{"a":1,}', "invalid character '}' looking for beginning of object key string"],
    ['{"a":1 "b":2}', "invalid character '\"' after object key:value pair"],
    ['[1 2]', "invalid character '2' after array element"],
    ['[1,]', "invalid character ']' looking for beginning of value"],
    ['{} {}', "invalid character '{' after top-level value"],
    ['01', "invalid character '1' after top-level value"],
    ['-x', "invalid character 'x' in numeric literal"],
    ['1.x', "invalid character 'x' after decimal point in numeric literal"],
    ['1ex', "invalid character 'x' in exponent of numeric literal"],
    ['"a\tb"', "invalid character '\\t' in string literal"],
    ['"\\x"', "invalid character 'x' in string escape code"],
    ['"\\u00g0"', "invalid character 'g' in \\u hexadecimal character escape"],
    ["'a'", "invalid character '\\'' looking for beginning of value"],
    ['\u00e9', "invalid character 'Ã' looking for beginning of value"],
    ['nul', "invalid character ' ' in literal null (expecting 'l')"],
    ['-', "invalid character ' ' in numeric literal"],
    ['1e', "invalid character ' ' in exponent of numeric literal"],
    ['1e400', 'json: cannot unmarshal number 1e400 into Go value of type float64'],
  ];
  test.each([
    ['-0', 0],
    ['-0.0', -0],
    ['-0e1', -0],
    ['-0.5', -0.5],
  ])('%s', (text, value) => {
    expect(parseJson(text)).toBe(value);
  });

  test.each(errors)('error of %j', (text, message) => {
    expect(() => parseJson(text)).toThrow(message);
  });

  test('an unpaired surrogate becomes the replacement character', () => {
    expect(parseJson('["\\ud800","\\ud83d\\ude00"]')).toEqual(['\ufffd', '\u{1f600}']);
  });

  test('the maximum nesting depth is accepted, and nothing deeper', () => {
    expect(() => parseJson('['.repeat(10001) + ']'.repeat(10001))).toThrow('exceeded max depth');
    expect(parseJson('['.repeat(10000) + ']'.repeat(10000))).toBeDefined();
  });

  test('agrees with JSON.parse, and big integers survive a round trip', () => {
    fc.assert(
      fc.property(fc.jsonValue(), fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }), (value, big) => {
        const text = `{"v":${JSON.stringify(value)},"big":${String(big)}}`;
        const parsed = parseJson(text) as { v: JsonValue; big: JsonValue };
        expect(BigInt(parsed.big as number)).toBe(big);
        expect(stringifyJson(parsed.v)).toBe(JSON.stringify(value));
        expect(stringifyJson(parsed.big)).toBe(String(big));
      }),
    );
  });
});

describe('strict decoding', () => {
  const decodeStrict = (text: string): { value: JsonValue; duplicateFields: string[] } => {
    const { value, duplicates } = decodeDetailed(text, { strict: true });
    return { value, duplicateFields: duplicateFieldErrors(duplicates) };
  };

  test('reports duplicates in the order of the text', () => {
    const { value, duplicateFields } = decodeStrict(
      '{"metadata":{"name":"a","name":"a"},"spec":{"a":1,"a":2,"l":[{"c":1},{"c":1,"c":2}]},"spec":{"a":3}}',
    );
    expect(value).toEqual({ metadata: { name: 'a' }, spec: { a: 3 } });
    expect(duplicateFields).toEqual([
      'duplicate field "metadata.name"',
      'duplicate field "spec.a"',
      'duplicate field "spec.l[1].c"',
      'duplicate field "spec"',
    ]);
  });

  test('colons in strings are not mistaken for keys', () => {
    expect(decodeStrict('{"a:b":"c:d\\":","e":{}}').duplicateFields).toEqual([]);
  });

  test('__proto__ is an ordinary key', () => {
    expect(decodeStrict('{"__proto__":1,"__proto__":2}')).toEqual({
      value: JSON.parse('{"__proto__":2}') as unknown,
      duplicateFields: ['duplicate field "__proto__"'],
    });
  });
});

describe('interpretTypeMeta', () => {
  const struct =
    'struct { APIVersion string "json:\\"apiVersion,omitempty\\""; Kind string "json:\\"kind,omitempty\\"" }';
  const errors: [JsonValue, string][] = [
    ['text', `json: cannot unmarshal string into Go value of type ${struct}`],
    [[], `json: cannot unmarshal array into Go value of type ${struct}`],
    [{ kind: 1 }, 'json: cannot unmarshal number into Go struct field .kind of type string'],
    [{ apiVersion: {} }, 'json: cannot unmarshal object into Go struct field .apiVersion of type string'],
  ];
  test.each(errors)('%j', (value, message) => {
    expect(() => interpretTypeMeta(value)).toThrow(`couldn't get version/kind; json parse error: ${message}`);
  });
  test('missing and null fields are empty', () => {
    expect(interpretTypeMeta({ kind: null })).toEqual({ apiVersion: '', kind: '' });
  });
});

test.each([
  ['{"kind":"A","KIND":"B"}', { apiVersion: '', kind: 'B' }],
  ['{"Kind":"B","kind":"A","ApiVersion":"v1"}', { apiVersion: 'v1', kind: 'A' }],
  ['{"kind":"A","KIND":null}', { apiVersion: '', kind: 'A' }],
])('keys are matched case-insensitively, and the last one wins: %s', (text, expected) => {
  expect(interpretTypeMeta(parseJson(text))).toEqual(expected);
});

test('a kind that is not a string is refused, whatever the case of its key', () => {
  expect(() => interpretTypeMeta(parseJson('{"kind":"A","KIND":[]}'))).toThrow(
    "couldn't get version/kind; json parse error: json: cannot unmarshal array into Go struct field .kind of type string",
  );
});

/** The expectations are how kube-apiserver reads the schemas of definitions. */
test.each([
  ['items', '{"items":{"type":"string","maxLength":3},"items":{"type":"integer"}}', { items: { type: 'integer' } }],
  [
    'additionalProperties',
    '{"additionalProperties":{"type":"string"},"additionalProperties":{}}',
    { additionalProperties: {} },
  ],
  [
    'one of the properties',
    '{"properties":{"a":{"type":"string"},"c":{}},"properties":{"a":{"minLength":1},"b":{}}}',
    { properties: { a: { minLength: 1 }, b: {}, c: {} } },
  ],
  ['not, which adds up', '{"not":{"maxLength":3},"not":{"minLength":1}}', { not: { maxLength: 3, minLength: 1 } }],
])('a second value in a schema: %s', (_name, text, expected) => {
  expect(decodeDetailed(text, { strict: false, merges: true }).value).toEqual(expected);
});
