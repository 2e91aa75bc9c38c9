import fc from 'fast-check';
import { growth } from '../../../test/fakes/util/growth.js';
import { parsePlainJson } from '../json/decode.js';
import { JsonError } from '../json/syntax.js';
import { goJson } from '../meta/meta.js';
import type { JsonValue } from '../json/json.js';
import { compareKeys } from './emitter.js';
import { decodeYaml, parseYaml, toYaml } from './yaml.js';

describe('parseYaml', () => {
  const good: [string, JsonValue][] = [
    ['', null],
    ['---\n', null],
    ['just text', 'just text'],
    ['a: y\nb: n\nc: Yes\nd: OFF\ne: "y"\n', { a: true, b: false, c: true, d: false, e: 'y' }],
    ['n: 1\n1: a\n1.5: b\ntrue: c\n', { false: 1, '1': 'a', '1.5': 'b', true: 'c' }],
    ['[0b11, 0o17, 017, 1_000, .5, 1e3, 0x1F, +1, -1, 08]', [3, 15, 15, 1000, 0.5, 1000, 31, 1, -1, 8]],
    ['[9007199254740993, -9223372036854775808]', [9007199254740993n, -9223372036854775808n]],
    ['a: 2020-01-02\nb: 12:30:45\n', { a: '2020-01-02', b: '12:30:45' }],
    ['x: &x {a: 1, b: 2}\nz:\n  <<: *x\n  a: 3\n', { x: { a: 1, b: 2 }, z: { a: 3, b: 2 } }],
    ["a: !!int '3'\nb: !!str 3\nc: !!float 3\nd: !foo x\n", { a: 3, b: '3', c: 3, d: 'x' }],
    ['a: b\n---\nc: d\n', { a: 'b' }],
    [
      'a: >\n folded\n text\n\n more\nb: |-\n lit\nc: |+\n keep\n\n',
      { a: 'folded text\nmore\n', b: 'lit', c: 'keep\n\n' },
    ],
    ['{"a": [1, {"b": null}]}', { a: [1, { b: null }] }],
    ['a: !!binary aGVsbG8=\n', { a: 'hello' }],
  ];
  test.each(good)('%j', (text, value) => {
    expect(parseYaml(text).value).toEqual(value);
  });

  const bad: [string, string][] = [
    ['a: [b\n', "yaml: line 1: did not find expected ',' or ']'"],
    ['a:\n\tb: c\n', 'yaml: line 2: found character that cannot start any token'],
    ['a: *x\n', "yaml: unknown anchor 'x' referenced"],
    ['a: &x [*x]\n', "yaml: anchor 'x' value contains itself"],
    ['a: .inf\n', 'json: unsupported value: +Inf'],
    ['<<: [1]\n', 'yaml: map merge requires map or sequence of maps as the value'],
    ['a: !!int x\n', 'yaml: cannot decode !!str `x` as a !!int'],
  ];
  test.each(bad)('%j is refused', (text, message) => {
    expect(() => parseYaml(text)).toThrow(new Error(message));
  });

  test('excessive aliasing is refused', () => {
    const levels = ['a0: &a0 [x,x,x,x,x,x,x,x,x,x]'];
    for (let i = 1; i < 9; i++) levels.push(`a${String(i)}: &a${String(i)} [${`*a${String(i - 1)},`.repeat(10)}]`);
    expect(() => parseYaml(levels.join('\n'))).toThrow('document contains excessive aliasing');
  });

  // The line numbers and their order are those of kube-apiserver.
  test.each([
    ['a list begins below its key', 'a: 1\ntags:\n  - x\ntags:\n  - y\n', ['line 5: key "tags"']],
    ['a map begins with its first key', 'a:\n  b: 1\na:\n  b: 1\n', ['line 4: key "a"']],
    ['inner ones come first', 'a:\n  b: 1\na:\n  b: 1\n  b: 2\n', ['line 5: key "b"', 'line 4: key "a"']],
    ['an empty value', 'a: 1\na: null\n', ['line 2: key "a"']],
  ])('lines of duplicates: %s', (_name, text, lines) => {
    expect(decodeYaml(text, true).sourceErrors).toEqual([
      `yaml: unmarshal errors:\n  ${lines.map((line) => `${line} already set in map`).join('\n  ')}`,
    ]);
  });

  test('keys are decoded in sorted order', () => {
    expect(JSON.stringify(decodeYaml('b: 1\na:\n  - {d: 1, c: 2}\n', false).value)).toBe('{"a":[{"c":2,"d":1}],"b":1}');
  });

  test('duplicates are reported only on request', () => {
    const text = 'a: 1\nb:\n  c: 1\n  c: 2\na: 3\n';
    expect(decodeYaml(text, false)).toEqual({ value: { a: 3, b: { c: 2 } }, duplicates: [] });
    expect(decodeYaml(text, true).sourceErrors).toEqual([
      'yaml: unmarshal errors:\n  line 4: key "c" already set in map\n  line 5: key "a" already set in map',
    ]);
    expect(decodeYaml('true: 1\ntrue: 2\n5: 1\n5: 2\n"5": 3\n', true).sourceErrors).toEqual([
      'yaml: unmarshal errors:\n  line 2: key true already set in map\n  line 4: key 5 already set in map',
    ]);
  });
});

test.each<[string, JsonValue]>([
  ['1e18', 10n ** 18n],
  ['9007199254740993.0', 2n ** 53n],
  ['1152921504606846977.0', 1152921504606847000n],
  ['9223372036854775808.0', 9223372036854775808],
  ['1e21', 1e21],
  ['-0.0', 0],
])('the float %s is read as the number that Go prints for it', (text, value) => {
  expect(parseYaml(`a: ${text}`).value).toEqual({ a: value });
});

describe('toYaml', () => {
  const cases: [string, JsonValue, string][] = [
    ['scalars', { a: 1, b: 1.5, c: true, d: null, e: '' }, 'a: 1\nb: 1.5\nc: true\nd: null\ne: ""\n'],
    [
      'numbers',
      [1e20, 1e21, 1234567.5, 0.00001, 9223372036854775807n, 2 ** 63, -(2 ** 63), 1e19],
      '- 1e+20\n- 1e+21\n- 1.2345675e+06\n- 1e-05\n- 9223372036854775807\n- 9223372036854776000\n- -9.223372036854776e+18\n- 10000000000000000000\n',
    ],
    ['nesting', { l: ['x', ['y', { k: 1, m: [] }], {}] }, 'l:\n- x\n- - "y"\n  - k: 1\n    m: []\n- {}\n'],
    [
      'texts that look like other things',
      ['yes', '1', '1.0', '2020-01-02', '12:30', '~', '<<'],
      '- "yes"\n- "1"\n- "1.0"\n- "2020-01-02"\n- "12:30"\n- "~"\n- <<\n',
    ],
    [
      'indicators',
      ['#a', 'a #b', 'a: b', '- a', "'", '@x', ' a', 'a ', 'a:b'],
      "- '#a'\n- 'a #b'\n- 'a: b'\n- '- a'\n- ''''\n- '@x'\n- ' a'\n- 'a '\n- a:b\n",
    ],
    [
      'lines',
      { a: 'x\ny\n', b: 'x\n\ny', c: ' x\n', d: 'x \ny', e: '\n' },
      'a: |\n  x\n  y\nb: |-\n  x\n\n  y\nc: |2\n   x\nd: "x \\ny"\ne: |2+\n\n',
    ],
    ['special characters', ['\t', '\u{1f600}', 'é', '\u0000'], '- "\\t"\n- "\\U0001F600"\n- é\n- "\\0"\n'],
    [
      'keys',
      { 'a\nb': 1, '': 2, yes: 3, ['k'.repeat(129)]: 4 },
      `"": 2\n? |-\n  a\n  b\n: 1\n? ${'k'.repeat(129)}\n: 4\n"yes": 3\n`,
    ],
  ];
  test.each(cases)('%s', (_, value, text) => {
    expect(toYaml(value)).toBe(text);
  });

  test('keys in natural order', () => {
    expect(['a10', 'a2', 'a02', 'B', 'a', '1', 'a-1', 'é'].sort(compareKeys)).toEqual([
      '1',
      'B',
      'a',
      'a-1',
      'a2',
      'a02',
      'a10',
      'é',
    ]);
  });

  test('written YAML is parsed back to the same value', () => {
    const text = fc.oneof(
      fc.string(),
      fc.constantFrom('yes', 'a: b', 'x\n y\n', '0x1', '1e3', "it's", '- a', '\n\n', '...'),
    );
    const { value } = fc.letrec<{ value: JsonValue }>((tie) => ({
      value: fc.oneof(
        { maxDepth: 4 },
        text,
        fc.integer(),
        fc.boolean(),
        fc.constant(null),
        fc.array(tie('value'), { maxLength: 4 }),
        fc.dictionary(
          text.filter((key) => key !== '<<' && key !== '__proto__'),
          tie('value'),
          { maxKeys: 4 },
        ),
      ),
    }));
    fc.assert(
      fc.property(value, (tree) => {
        expect(goJson(parseYaml(toYaml(tree)).value)).toBe(goJson(tree));
      }),
    );
  });
});

describe('parsePlainJson', () => {
  const slowly = (text: string): JsonValue => parseYaml(`\n${text}`).value;

  test.each([
    ['plain', '{"a":1,"b":["x",true,null,-5],"c":{"d":"e: f # g"}}', true],
    ['spread over lines', '{\n  "a": [\n    1\n  ]\n}\n', true],
    ['words and numbers in quotes', '{"yes":"no","1":"~","<<":"0x10","a":"2001-01-01"}', true],
    ['simple escapes', '{"a":"\\n\\t\\"\\\\"}', true],
    ['a tab between', '{\t"a":1}', false],
    ['an escaped slash', '{"a":"\\/"}', false],
    ['an escaped code point', '{"a":"\\u00e9"}', false],
    ['a float', '{"a":1.0}', false],
    ['an exponent', '{"a":1e3}', false],
    ['a long integer', '{"a":9007199254740993}', false],
    ['minus zero', '{"a":-0}', false],
    ['a key twice', '{"a":1,"a":2}', false],
    ['a line break before the colon', '{"a"\n:1}', false],
    ['a long key', `{"${'k'.repeat(1200)}":1}`, false],
    ['a next-line character', '{"a":"x\u0085y"}', false],
    ['a line separator', '{"a":"x\u2028y"}', false],
    ['a delete character', '{"a":"x\u007fy"}', false],
    ['a list', '[1]', false],
    ['deep', `${'{"a":'.repeat(101)}1${'}'.repeat(101)}`, false],
    ['not JSON', '{a: 1}', false],
  ])('%s', (_, text, taken) => {
    const plain = parsePlainJson(text);
    expect(plain !== undefined).toBe(taken);
    if (plain !== undefined) expect(plain).toEqual(slowly(text));
  });

  test('returns the same value as the YAML parser', () => {
    const keys = fc.dictionary(fc.string(), fc.jsonValue() as fc.Arbitrary<JsonValue>);
    fc.assert(
      fc.property(keys, fc.constantFrom(undefined, 2), (value, indent) => {
        const text = JSON.stringify(value, undefined, indent);
        const plain = parsePlainJson(text);
        fc.pre(plain !== undefined);
        expect(plain).toEqual(slowly(text));
      }),
      { numRuns: 300 },
    );
  });
});

describe('long strings are folded where kube-apiserver folds them', () => {
  test.each([
    [
      'in single quotes',
      { message: "unable to parse requirement: found 'exists', expected: in, notin, =, ==, !=, gt, lt" },
      "message: 'unable to parse requirement: found ''exists'', expected: in, notin, =, ==,\n  !=, gt, lt'\n",
    ],
    [
      'within a list',
      {
        details: {
          causes: [{ message: 'Forbidden: resourceVersionMatch is forbidden unless resourceVersion is provided' }],
        },
      },
      "details:\n  causes:\n  - message: 'Forbidden: resourceVersionMatch is forbidden unless resourceVersion\n      is provided'\n",
    ],
    [
      'unchanged',
      {
        description:
          'Name must be unique within a namespace. Is required when creating resources, although some may not',
      },
      'description: Name must be unique within a namespace. Is required when creating resources,\n  although some may not\n',
    ],
    ['never as words', { a: 'x'.repeat(100) }, `a: ${'x'.repeat(100)}\n`],
  ])('%s', (_name, value, text) => {
    expect(toYaml(value)).toBe(text);
    expect(parseYaml(Buffer.from(text)).value).toEqual(value);
  });
});

describe('nesting depth of brackets', () => {
  test.each([
    ['closed', `\na: ${'['.repeat(10_001)}${']'.repeat(10_001)}`, 2],
    ['open', `a: b\nc: d\ne: ${'[{'.repeat(700_000)}`, 3],
    ['after a text of several lines', `a: "x\n[[ y"\nb: ${'['.repeat(10_001)}`, 3],
  ])('%s', (_name, text, line) => {
    expect(() => parseYaml(text)).toThrow(`yaml: line ${String(line)}: exceeded max depth of 10000`);
  });

  test.each([
    ['side by side', `a:\n${'- [x]\n'.repeat(10_100)}`],
    ['in a text', `a: "${'['.repeat(10_100)}"`],
    ['in plain text', `a: x${'['.repeat(10_100)}`],
  ])('accepts brackets that are not nested: %s', (_name, text) => {
    expect(() => parseYaml(text)).not.toThrow();
  });
});

test('a list with too many members is refused', () => {
  const refused: unknown = expect.objectContaining({
    status: expect.objectContaining({ code: 413, reason: 'RequestEntityTooLarge' }) as unknown,
  });
  expect(() => parseYaml(`[${'1,'.repeat(500_000)}1]`)).toThrow(refused as Error);
});

test('the time to write is linear in the number of lines', () => {
  const took = growth(60_000, (size) => {
    const items = Array.from({ length: size }, (_, i) => ({ name: `item-${String(i)}` }));
    return () => toYaml({ items });
  });
  expect(took).toBeLessThanOrEqual(1);
});

/** The messages of kube-apiserver for the same bodies. */
describe('errors of the reader and the scanner', () => {
  const bytes = (...all: number[]): Buffer => Buffer.from(all);
  test.each<[string, Buffer | string, string]>([
    ['a null byte', bytes(0x61, 0), 'yaml: control characters are not allowed'],
    ['delete within JSON', '{"a":"\x7f"}', 'yaml: control characters are not allowed'],
    ['a noncharacter', 'a: \uffff', 'yaml: control characters are not allowed'],
    ['a byte that starts no character', bytes(0x61, 0xff), 'yaml: invalid leading UTF-8 octet'],
    ['a truncated character', bytes(0x61, 0xe2, 0x82), 'yaml: incomplete UTF-8 octet sequence'],
    ['an interrupted character', bytes(0xe2, 0x61, 0x61), 'yaml: invalid trailing UTF-8 octet'],
    ['an overlong character', bytes(0xc0, 0x80), 'yaml: invalid length of a UTF-8 sequence'],
    ['half a surrogate pair', bytes(0xed, 0xa0, 0x80), 'yaml: invalid Unicode character'],
    ['half a character of UTF-16', bytes(0xff, 0xfe, 0x61), 'yaml: incomplete UTF-16 character'],
    ['a tab alone', '\t', 'yaml: found character that cannot start any token'],
    ['a tab that continues a scalar', 'a: b\n\tc: d', 'yaml: line 2: found a tab character that violates indentation'],
    ['a tab that begins a key', 'a:\n\tc: d', 'yaml: line 2: found character that cannot start any token'],
    ['another version', '%YAML 1.2\n---\na: b', 'yaml: found incompatible YAML document'],
    ['a list as a key', '[a]: b', 'yaml: invalid map key: []interface {}{"a"}'],
    ['a map as a key', '{a: b}: c', 'yaml: invalid map key: map[interface {}]interface {}{"a":"b"}'],
  ])('%s', (_, text, message) => {
    expect(() => parseYaml(text)).toThrow(new JsonError(message));
  });

  test('accepts UTF-16, and all valid characters of UTF-8', () => {
    expect(parseYaml(Buffer.from('\ufeffa: \u00fc', 'utf16le')).value).toEqual({ a: '\u00fc' });
    expect(parseYaml(Buffer.from('\ufeffa: b', 'utf16le').swap16()).value).toEqual({ a: 'b' });
    expect(parseYaml('a: \u{1f600}\ufffd').value).toEqual({ a: '\u{1f600}\ufffd' });
  });
});

/** Cases found by two random comparisons with kube-apiserver. */
describe('unusual documents are parsed as in Go', () => {
  test.each<[string, string, JsonValue]>([
    ['text after the end of a root in brackets', "{a: b}}\n'x", { a: 'b' }],
    ['plain text after it', '{a: b} c', { a: 'b' }],
    ['a separator of lines ends a line', 'a: [b,\u2028c]', { a: ['b', 'c'] }],
    ['and stays within a block', 'a: |\n  b\u2028  c', { a: 'b\u2028c' }],
    ['a quoted scalar that continues left of its key', 'a:\n  b: "c\n d"', { a: { b: 'c d' } }],
    ['an anchor on nothing', 'a: &x\nb: *x', { a: null, b: null }],
    ['a pair in a list', '[a: b, ? c : d]', [{ a: 'b' }, { c: 'd' }]],
    ['keys alone in braces', '{a, b: , c}', { a: null, b: null, c: null }],
    ['tags by handles', '%TAG !e! tag:yaml.org,2002:\n---\na: !e!str 1\n', { a: '1' }],
    ['an escaped tag', 'a: !<tag:yaml.org,2002:%73tr> 1', { a: '1' }],
    ['a list that is not indented', 'a:\n- b\n- - c\nd:', { a: ['b', ['c']], d: null }],
    ['comments, blank lines, the mark of bytes', '\ufeff# c\n\n---  # d\na: b # e\n...\n', { a: 'b' }],
    ['an alias as a key', 'a: &x b\n*x : c', { a: 'b', b: 'c' }],
    ['a list that stands for a name', 'a: &x 1\n*x : c', { a: 1, 1: 'c' }],
    ['chomping and indentation', 'a: |2-\n   b\n\nc: >+1\n d\n\n', { a: ' b', c: 'd\n\n' }],
  ])('%s', (_, text, value) => {
    expect(parseYaml(text).value).toEqual(value);
  });

  test.each([
    ['{a: b\n c: d}', "line 1: did not find expected ',' or '}'"],
    ['a: [b\nc: d', "line 1: did not find expected ',' or ']'"],
    ['a: &x&y b', 'did not find expected alphabetic or numeric character'],
    ['a:\n  b: c\n\t\nd: e', 'line 3: found a tab character that violates indentation'],
    ['a: "b\n---\nc"', 'line 2: found unexpected document indicator'],
    ["a: 'b", 'found unexpected end of stream'],
    ['a: b\n  c: d', 'line 2: mapping values are not allowed in this context'],
    ['a: b\nc\nd: e', "line 3: could not find expected ':'"],
    ['a:\n  - b\n  c: d', "line 2: did not find expected '-' indicator"],
    ['a: @b', 'found character that cannot start any token'],
    ['%YAML 1.1\n%YAML 1.1\n---\na', 'line 1: found duplicate %YAML directive'],
    ['%TAG ! a\n%TAG ! b\n---\na', 'line 1: found duplicate %TAG directive'],
    ['%FOO\n---\na', 'found unknown directive name'],
    ['%YAML 1.1\na: b', 'line 1: did not find expected <document start>'],
    ['a: !e!x b', 'found undefined tag handle'],
    ['a: !<x b', "did not find the expected '>'"],
    ['a: |0\n b', 'found an indentation indicator equal to 0'],
    ['a: |\n\t b', 'line 2: found a tab character where an indentation space is expected'],
    ['a: "\\xzz"', 'did not find expected hexdecimal number'],
    ['a: "\\q"', 'found unknown escape character'],
    ['? a\n? - b\n  c', "line 4: could not find expected ':'"],
    ['- a\nb: c', "line 1: did not find expected '-' indicator"],
  ])('%j is refused', (text, message) => {
    expect(() => parseYaml(text)).toThrow(new JsonError(`yaml: ${message}`));
  });
});

/** The expectations are how kube-apiserver reads the same texts. */
describe('YAML 1.1', () => {
  test.each<[string, string, JsonValue]>([
    ['a carriage return alone ends a line', 'a: b\rc: d\r', { a: 'b', c: 'd' }],
    ['"next line" ends a line', 'a: b\x85c: |\x85  d\x85  e', { a: 'b', c: 'd\ne' }],
    ['and is folded within quotes', 'a: "b\x85  c"', { a: 'b c' }],
    ['what follows a merge wins', 'a: {<<: {b: 1}, b: 2}', { a: { b: 2 } }],
    ['a merge wins over what precedes it', 'a: {b: 2, <<: {b: 1}}', { a: { b: 1 } }],
    ['of several maps that are merged the first wins', 'a: {<<: [{b: 1}, {b: 2, c: 3}]}', { a: { b: 1, c: 3 } }],
    ['keys that are infinite', '{.inf: a, -.inf: b, .nan: c}', { '.inf': 'a', '-.inf': 'b', '.nan': 'c' }],
    ['keys that are fractions', '{1e10: a, -0.0: b, 16777217.0: c}', { '1e+10': 'a', '-0': 'b', '1.6777216e+07': 'c' }],
    ['escaped escapes', 'x: "\\\\/\\\\ud800"', { x: '\\/\\ud800' }],
  ])('%s', (_, text, value) => {
    expect(decodeYaml(text, false).value).toEqual(value);
  });

  test.each([
    ['keys of different kinds are not duplicates', 'a: {1: a, 1.0: b, "1": c, true: d, "true": e}', []],
    ['merged keys are', 'a: {b: 1}\nc:\n  b: 2\n  <<: {b: 3}', ['line 4: key "b" already set in map']],
    [
      'where they stand',
      'a: &x {b: 1}\nc: &y {b: 2, e: 3}\nd:\n  <<: [*x, *y]\n  b: 9',
      ['line 1: key "b" already set in map', 'line 5: key "b" already set in map'],
    ],
  ])('%s', (_, text, duplicates) => {
    expect(parseYaml(text).duplicates).toEqual(
      duplicates.length === 0 ? [] : [`yaml: unmarshal errors:\n  ${duplicates.join('\n  ')}`],
    );
  });

  test.each([
    ['half a character', 'a: b\nx: "\\ud800"', 'yaml: line 2: found invalid Unicode character escape code'],
    ['a pair of halves', 'a: b\nx: "\\ud83d\\ude00"', 'yaml: line 2: found invalid Unicode character escape code'],
    ['half a character as a key', '{"\\uDfff": 1}', 'yaml: found invalid Unicode character escape code'],
    ['beyond Unicode', 'a: b\nx: "\\U00110000"', 'yaml: line 2: found invalid Unicode character escape code'],
    ['an escape of JSON', 'a: b\nx: ["c",\n "a\\/b"]', 'yaml: line 3: found unknown escape character'],
    ['an invalid integer', 'x: !!int 1e3', 'yaml: cannot decode !!float `1e3` as a !!int'],
    [
      'a key beyond 63 bits',
      '{18446744073709551615: a}',
      'unsupported map key of type: uint64, key: 0xffffffffffffffff, value: "a"',
    ],
    [
      'a list on the line of its key',
      'a: b\nx: - a',
      'yaml: line 2: block sequence entries are not allowed in this context',
    ],
    ['no indentation', 'a: b\nx: |0\n a', 'yaml: line 2: found an indentation indicator equal to 0'],
    ['a header of two indentations', 'a: b\nx: |10\n a', 'yaml: line 2: did not find expected comment or line break'],
    ['text after text', 'a: b\nx: "a" b\n', 'yaml: line 1: did not find expected key'],
    ['text after a list', 'a: b\nx: [[a] b]\n', "yaml: line 1: did not find expected ',' or ']'"],
    ['two values in a map', 'a: b\nx: {a: b c: d}\n', "yaml: line 1: did not find expected ',' or '}'"],
    ['two values in a list', 'a: b\nx: ["a" "b"]\n', "yaml: line 1: did not find expected ',' or ']'"],
    ['an unknown directive', '%FOO\n---\na: b\n', 'yaml: found unknown directive name'],
    ['a directive without a document', '%YAML 1.1\na: b\n', 'yaml: line 1: did not find expected <document start>'],
  ])('refuses %s', (_, text, message) => {
    expect(() => parseYaml(text)).toThrow(new JsonError(message));
  });

  test('merges without keys count as aliases', () => {
    const lines = ['a0: &a0 {}'];
    for (let i = 1; i < 40; i++)
      lines.push(`a${String(i)}: &a${String(i)} {<<: [*a${String(i - 1)}, *a${String(i - 1)}]}`);
    expect(() => parseYaml(lines.join('\n'))).toThrow('yaml: document contains excessive aliasing');
  });
});
