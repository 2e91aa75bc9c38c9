import type { Vector } from './vectors.js';

/** Suites of extensions that Kubernetes does not enable. */
const DISABLED = ['bindings_ext', 'block_ext', 'encoders_ext', 'math_ext', 'proto2_ext'];
/** Suites about protobuf messages. */
const MESSAGES = ['proto2', 'proto3', 'enums', 'wrappers', 'dynamic'];
const MESSAGE_TEXT =
  /TestAllTypes|NestedMessage|GlobalEnum|google\.protobuf\.(?!Timestamp\b|Duration\b)|google\.protobuf\.(?:Timestamp|Duration)\s*\{|TestRequired|net\.proto/;
const MESSAGE_VALUE = /"objectValue"|"enumValue"|"messageType"/;

/** Reports whether a vector needs protobuf messages, or extensions that Kubernetes does not enable. */
export function needsMessages(vector: Vector): boolean {
  const suite = vector.name.split('/')[0] ?? '';
  if (DISABLED.includes(suite)) return true;
  const wire = JSON.stringify([vector.value, vector.typedResult, vector.bindings, vector.typeEnv]);
  if (MESSAGE_TEXT.test(vector.expr) || MESSAGE_VALUE.test(wire)) return true;
  return MESSAGES.includes(suite) && (vector.container ?? '') !== '';
}

const EXCEPTIONS: readonly (readonly [RegExp, string])[] = [
  [
    /^string_ext\/format\/.*(scientific|inity support for|NaN support for decimal|NaN\/infinity support|(list|map|lists|maps)( support)? ?(for string|\(all key types\))|support for (lists|maps)$)/,
    'Kubernetes enables version 2 of the string extension, whose format prints numbers and containers otherwise',
  ],
  [/^string_ext\/value_errors\/(last)?indexof_out_of_range$/, 'the reference implementation answers -1'],
  [
    /^type_deductions\/legacy_nullable_types\/null_assignable_to_abstract_parameter_candidate$/,
    'the reference implementation finds the type null',
  ],
];

/** Returns the reason why a vector is expected to fail, or undefined if it should pass. */
export function exception(vector: Vector): string | undefined {
  return EXCEPTIONS.find(([name]) => name.test(vector.name))?.[1];
}
