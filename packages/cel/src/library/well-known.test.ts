import { kubernetesEnvironment } from '../kubernetes.js';
import { INT } from '../types.js';

const environment = kubernetesEnvironment('new').extend([{ name: 'big', type: INT }]);

function evaluate(source: string): string {
  const { program, failure } = environment.compile(source);
  if (program === undefined) return failure.issues.map(({ message }) => message).join();
  const outcome = program.evaluate({ big: 4294967297 });
  return outcome.kind === 'value' ? JSON.stringify(outcome.value) : outcome.message;
}

test.each([
  'google.protobuf.Int32Value{value: 1} == 1',
  'google.protobuf.Int32Value{} == 0',
  "google.protobuf.StringValue{} == ''",
  'google.protobuf.Int32Value{?value: optional.of(1)} == 1',
  'google.protobuf.Int32Value{value: 1} + 1 == 2',
  'type(google.protobuf.Int32Value{value: 1}) == int',
  'google.protobuf.Timestamp{} == timestamp(0)',
  "google.protobuf.Timestamp{seconds: 5, nanos: -1} == timestamp('1970-01-01T00:00:04.999999999Z')",
  "google.protobuf.Timestamp{seconds: 5, nanos: 1500000000} == timestamp('1970-01-01T00:00:06.5Z')",
  "google.protobuf.Duration{seconds: 5, nanos: 7} == duration('5s7ns')",
  "google.protobuf.Struct{fields: {'a': 1}} == {'a': 1.0}",
  "google.protobuf.Struct{fields: {'a': b'x'}} == {'a': 'eA=='}",
  "google.protobuf.Struct{fields: {'a': duration('90s')}} == {'a': '90s'}",
  'google.protobuf.Struct{} == {}',
  'google.protobuf.ListValue{values: [1, 2]} == [1.0, 2.0]',
  "google.protobuf.ListValue{values: [9007199254740993]} == ['9007199254740993']",
  "google.protobuf.ListValue{values: [timestamp(0)]} == ['1970-01-01T00:00:00Z']",
  'google.protobuf.ListValue{} == []',
  'google.protobuf.Value{} == null',
  'google.protobuf.Value{null_value: google.protobuf.NullValue.NULL_VALUE} == null',
  'google.protobuf.Value{number_value: 1.0} == 1.0',
  "google.protobuf.Value{string_value: 'a'} == 'a'",
  'google.protobuf.Value{list_value: [1]} == [1.0]',
  "google.protobuf.Value{struct_value: {'a': true}} == {'a': true}",
])('%s', (source) => {
  expect(evaluate(source)).toBe('true');
});

const field = (name: string, reason: string): string =>
  `field type conversion error for google.protobuf.${name}.value value type: ${reason}`;

test.each([
  ['Int32Value{value: big} == 1', field('Int32Value', 'integer overflow')],
  ['UInt32Value{value: uint(big)} == 1u', field('UInt32Value', 'unsigned integer overflow')],
  ["Int32Value{value: dyn('a')} == 1", field('Int32Value', "unsupported native conversion from string to 'int32'")],
  ['Int32Value{value: dyn(1u)} == 1', field('Int32Value', "unsupported type conversion from 'uint' to int32")],
  ["StringValue{value: dyn(1)} == 'a'", field('StringValue', "unsupported type conversion from 'int' to string")],
  ['BoolValue{value: dyn(1.5)} == true', field('BoolValue', "type conversion error from Double to 'bool'")],
  ['BoolValue{value: dyn([1])} == true', field('BoolValue', "type conversion error from list to 'bool'")],
  ['Int64Value{value: dyn(null)} == 1', field('Int64Value', "type conversion error from 'null_type' to 'int64'")],
  ["Int64Value{value: dyn(b'a')} == 1", field('Int64Value', "type conversion error from Bytes to 'int64'")],
  ['Int64Value{value: dyn(true)} == 1', field('Int64Value', "type conversion error from bool to 'int64'")],
  [
    "StringValue{value: dyn(duration('1s'))} == 'a'",
    field('StringValue', "type conversion error from 'Duration' to 'string'"),
  ],
  ["Int32Value{value: 'a'} == 1", "expected type of field 'value' is 'int' but provided type is 'string'"],
  ['Int32Value{val: 1} == 1', "undefined field 'val'"],
  ['Int32Value{value: 1}.value == 1', "type 'wrapper(int)' does not support field selection"],
  ['Timestamp{seconds: 5}.seconds == 5', "type 'timestamp' does not support field selection"],
  ['NullValue.NULL_VALUE == null', "found no matching overload for '_==_' applied to '(int, null)'"],
  ['Int32Value == int', 'reference to undefined type: google.protobuf.Int32Value'],
  ['FieldMask{} == 1', "undeclared reference to 'google.protobuf.FieldMask' (in container '')"],
])('google.protobuf.%s fails', (source, message) => {
  expect(evaluate(`google.protobuf.${source}`)).toBe(message);
});

test.each([
  ['[a ? b ? c : d : e, 1]', [7, 15]],
  ['{1: a ? b ? c : d : e, 2: 1}', [10, 18]],
  ['size(a ? b ? c : d : e, 1)', [11, 19]],
  ['a ? b ? c : d : e', [6]],
])('reports a conditional within a conditional: %s', (source, offsets) => {
  expect(environment.compile(source).failure?.issues.map(({ offset }) => offset)).toEqual(offsets);
});
