import { canonicalJson, isObject, type JsonValue, stringifyJson } from '../../../apimachinery/json/json.js';

const INDENT = '    ';

/** Returns indented JSON with sorted keys, as kubectl prints it. */
export function indentedJson(value: JsonValue, margin = ''): string {
  const inner = margin + INDENT;
  if (Array.isArray(value)) {
    if (value.length === 0) return '[]';
    return `[\n${value.map((item) => inner + indentedJson(item, inner)).join(',\n')}\n${margin}]`;
  }
  if (!isObject(value)) return stringifyJson(value);
  const members = Object.keys(value)
    .sort()
    .flatMap((key) => {
      const member = value[key];
      return member === undefined ? [] : [`${inner}${JSON.stringify(key)}: ${indentedJson(member, inner)}`];
    });
  return members.length === 0 ? '{}' : `{\n${members.join(',\n')}\n${margin}}`;
}

/** Returns a value as a template prints it: text without quotes, everything else as JSON with sorted keys. */
export function plainText(value: JsonValue | undefined): string {
  if (value === undefined) return '';
  if (typeof value === 'string') return value;
  return typeof value === 'object' && value !== null ? canonicalJson(value) : String(value);
}
