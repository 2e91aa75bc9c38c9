import { kubernetesEnvironment } from './kubernetes.js';
import { adapterOf } from './schema/decl-type.js';
import { TIMESTAMP } from './types.js';
import { CelError } from './values/value.js';

/** Returns the error of an evaluation, or whether its result is true. */
function outcome(source: string): string {
  const { program, failure } = kubernetesEnvironment('new').compile(source);
  if (program === undefined) return failure.issues.map(({ message }) => message).join();
  if (program.planError !== undefined) return program.planError;
  const result = program.evaluate({}, 1_000_000);
  return result.kind === 'value' ? String(result.value === true) : result.message;
}

const lister = (type: string, lacks: string): string =>
  `internal error: interface conversion: ${type} is not traits.Lister: missing method ${lacks}`;
const message = (text: string): string => `unsupported conversion to ref.Val: (*dynamicpb.Message)${text}`;

// Recorded from kube-apiserver.
test.each([
  // Its cost calculation panics.
  ['[1, 2].slice(0, -1).distinct() == [1] || true', lister('*types.Err', 'Add')],
  ['[1, 2].slice(0, -1).sort() == [1]', lister('*types.Err', 'Add')],
  ['[1, 2].sortBy(x, x / 0) == [1]', lister('*types.Err', 'Add')],
  ['dyn(5).distinct() == [5]', lister('types.Int', 'Contains')],
  ["dyn('a').distinct() == [5]", lister('types.String', 'Contains')],
  ["dyn({'a': 1}).distinct() == [5]", lister('*types.baseMap', 'Add')],
  ['dyn(true).distinct() == [5]', lister('types.Bool', 'Add')],
  ['dyn(null).distinct() == [5]', lister('types.Null', 'Add')],
  ['dyn(1.5).distinct() == [5]', lister('types.Double', 'Contains')],
  ["dyn(b'a').distinct() == [5]", lister('types.Bytes', 'Contains')],
  ["dyn(duration('1s')).distinct() == [5]", lister('types.Duration', 'Contains')],
  ['dyn(timestamp(0)).distinct() == [5]', lister('types.Timestamp', 'Contains')],
  ['dyn(1u).distinct() == [5]', lister('types.Uint', 'Contains')],
  ['dyn(optional.of(1)).distinct() == [5]', lister('*types.Optional', 'Add')],
  [
    'dyn([1, 2]).slice(0, -1).flatten(1 / 0) == [1]',
    'internal error: interface conversion: ref.Val is *types.Err, not types.Int',
  ],
  ['[[1], [2]].slice(0, -1).flatten() == [1]', 'cannot slice(0, -1), negative indexes not supported'],
  // No overload accepts the arguments.
  ['dyn(5).sort() == [5]', 'no such overload: sort'],
  ['dyn(5).flatten() == [1]', 'no such overload: int.flatten()'],
  ['dyn(5).size() == 5', 'no such overload: size'],
  ['size(dyn(1)) == 1', 'no such overload: size'],
  ["dyn(5).startsWith('a')", 'no such overload'],
  ["dyn('5').contains(dyn(5))", 'no such overload'],
  ["dyn(5).findAll('a') == []", 'no such overload'],
  ["cidr('10.0.0.0/8').containsIP('1212')", 'no such overload'],
  ['dyn(5).all(x, true)', "got 'types.Int', expected iterable type"],
  // Messages of any type.
  ["google.protobuf.Any{type_url: 'x'} != null", message('type_url:"x"')],
  ["google.protobuf.Any{type_url: 'x', value: b'1'} != null", message('type_url:"x" value:"1"')],
  [
    "google.protobuf.Any{type_url: 'a\"b\\\\c\\né\\x01', value: b'\\xff\\x00é\"'} != null",
    message('type_url:"a\\"b\\\\c\\né\\x01" value:"\\xff\\x00é\\""'),
  ],
  ['google.protobuf.Any{} == 1 || true', 'true'],
  ['[google.protobuf.Any{}].size() == 1', message('')],
  ["google.protobuf.Any{type_url: 'google.protobuf.Int32Value', value: b'\\x08\\x05'} == 5", 'true'],
  [
    "google.protobuf.Any{type_url: 'google.protobuf.Int32Value', value: b'\\xff'} == 0",
    message('type_url:"google.protobuf.Int32Value" value:"\\xff"'),
  ],
  ["google.protobuf.Any{type_url: 'x/google.protobuf.StringValue', value: b'\\x0a\\x01a'} == 'a'", 'true'],
  ["google.protobuf.Any{type_url: 'x/google.protobuf.Timestamp', value: b'\\x08\\x05'} == timestamp(5)", 'true'],
  ["google.protobuf.Any{type_url: 'x/google.protobuf.Duration', value: b'\\x08\\x05'} == duration('5s')", 'true'],
  ["google.protobuf.Any{type_url: 'x/google.protobuf.ListValue'} == []", 'true'],
  ["google.protobuf.Any{type_url: 'x/google.protobuf.Struct'} == {}", 'true'],
  ["google.protobuf.Any{type_url: 'x/google.protobuf.Value'} == null", 'true'],
  ['google.protobuf.Any{nothing: 1} == null', "undefined field 'nothing'"],
  [
    'google.protobuf.Any{type_url: 1} == null',
    "expected type of field 'type_url' is 'string' but provided type is 'int'",
  ],
  // Timestamps beyond the year 9999.
  ['google.protobuf.Timestamp{seconds: 9223372036854775807} > timestamp(0)', 'false'],
  ['google.protobuf.Timestamp{seconds: 253402300800} > timestamp(0)', 'true'],
  ['google.protobuf.Timestamp{seconds: 253402300800}.getFullYear() == 10000', 'true'],
  ['google.protobuf.Timestamp{seconds: 253402300800}.getDayOfWeek() == 6', 'true'],
  ["string(google.protobuf.Timestamp{seconds: 253402300800}) == '10000-01-01T00:00:00Z'", 'true'],
  ["string(google.protobuf.Timestamp{seconds: -62135596801}) == '0000-12-31T23:59:59Z'", 'true'],
  ["google.protobuf.Timestamp{seconds: 9223372036854775}.getHours('Europe/Berlin') > 0", 'true'],
  [
    "google.protobuf.Timestamp{seconds: 253402300800} == timestamp(253402300799) + duration('1s')",
    'timestamp overflow',
  ],
  ["google.protobuf.Timestamp{seconds: 253402300800} - timestamp(0) == duration('1s')", 'integer overflow'],
  // Broken syntax.
  ['dyn(1).?', "Syntax error: mismatched input '<EOF>' expecting {IDENTIFIER, ESC_IDENTIFIER},unsupported ident kind"],
  ["1 == r'\\ / 2", "Syntax error: token recognition error at: ''\\ '"],
  ['timestamp(9007199254740993) > timestamp(0)', 'invalid timestamp argument'],
])('%s', (source, expected) => {
  expect(outcome(source)).toBe(expected);
});

test.each([
  ['YQ==', undefined],
  ['/wA=', 'illegal base64 data at input byte 0'],
])('a value of format byte is decoded with the URL alphabet: %s', (text, problem) => {
  const value = adapterOf({ type: 'string', format: 'byte' })(text);
  if (problem === undefined) expect(value).toEqual(new Uint8Array([97]));
  else expect(value).toEqual(new CelError(`Invalid byte formatted string ${text}: ${problem}`));
});

test('a date-time in the year 0000 is a timestamp, although CEL converts no such text', () => {
  const at = adapterOf({ type: 'string', format: 'date-time' })('0000-01-01T00:00:00Z');
  const environment = kubernetesEnvironment('new').extend([{ name: 'at', type: TIMESTAMP }]);
  const { program } = environment.compile('at.getFullYear()');
  expect(program?.evaluate({ at }, 1_000)).toMatchObject({ kind: 'value', value: 0 });
});
