import { fn, method, overload } from '../../declarations.js';
import type { Library } from '../library.js';
import { STRING, listOf, objectType, optionalOf } from '../../types.js';
import { isTimestamp, parseDate } from '../../values/time.js';
import { ArrayList, type CelError, NO_SUCH_OVERLOAD, Opaque, Optional, type Value } from '../../values/value.js';
import { onString } from '../helpers.js';
import { typeConstant } from '../standard.js';
import { urlProblem } from './urls.js';

const FORMAT = objectType('kubernetes.NamedFormat');

type Validate = (text: string) => readonly string[];

class Format extends Opaque {
  readonly typeName = 'kubernetes.NamedFormat';
  constructor(
    private readonly name: string,
    readonly validate: Validate,
    /** The length of the regular expression that cost calculations use. */
    readonly regexSize: number,
  ) {
    super();
  }

  equals(other: Value): boolean | CelError {
    return other instanceof Format ? this.name === other.name : NO_SUCH_OVERLOAD;
  }
}

/** The length of the regular expression of a named format, or undefined for other values. */
export const formatRegexSize = (value: Value | undefined): number | undefined =>
  value instanceof Format ? value.regexSize : undefined;

const LABEL = '[a-z0-9]([-a-z0-9]*[a-z0-9])?';
const LABEL_1035 = '[a-z]([-a-z0-9]*[a-z0-9])?';
const SUBDOMAIN = `${LABEL}(\\.${LABEL})*`;
const NAME = '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]';

// These patterns run in linear time: no input makes them backtrack.
export const isLabel = (text: string): boolean =>
  /^[a-z0-9-]+$/.test(text) && !text.startsWith('-') && !text.endsWith('-');
export const isSubdomain = (text: string): boolean => text.split('.').every(isLabel);
const isName = (text: string): boolean => /^[A-Za-z0-9_.-]+$/.test(text) && !/^[-_.]|[-_.]$/.test(text);

const tooLong = (length: number, unit: string): string => `must be no more than ${length} ${unit}`;
/** Lengths are counted in bytes, whatever the message says. */
const checkLength = (text: string, max: number, unit = 'characters'): string[] =>
  Buffer.byteLength(text) > max ? [tooLong(max, unit)] : [];

function explain(message: string, pattern: string, ...examples: string[]): string {
  return `${message} (e.g. ${examples.map((example) => `'${example}'`).join(',  or ')}, regex used for validation is '${pattern}')`;
}

function dnsLabel(text: string): string[] {
  const problems = checkLength(text, 63);
  if (isLabel(text)) return problems;
  if (isSubdomain(text)) return [...problems, 'must not contain dots'];
  const why =
    "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character";
  return [...problems, explain(why, LABEL, 'my-name', '123-abc')];
}

function dnsSubdomain(text: string, unit?: string): string[] {
  const problems = checkLength(text, 253, unit);
  if (isSubdomain(text)) return problems;
  const why =
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character";
  return [...problems, explain(why, SUBDOMAIN, 'example.com')];
}

function dns1035Label(text: string): string[] {
  const problems = checkLength(text, 63);
  if (isLabel(text) && /^[a-z]/.test(text)) return problems;
  const why =
    "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, and end with an alphanumeric character";
  return [...problems, explain(why, LABEL_1035, 'my-name', 'abc-123')];
}

/** Validates the prefix of a name, which may end in a dash. */
const prefix =
  (validate: Validate): Validate =>
  (text) =>
    validate(text.length > 1 && text.endsWith('-') ? `${beforeDash(text)}a` : text);

/** Without the dash and the byte before it. What is left of a longer character is as invalid as the character. */
const beforeDash = (text: string): string => text.slice(0, text.charCodeAt(text.length - 2) > 0x7f ? -1 : -2);

const NAME_PART =
  "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character";

function qualifiedName(text: string): string[] {
  const parts = text.split('/');
  if (parts.length > 2) {
    const hint = " with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')";
    return [`a valid label key ${explain(NAME_PART, NAME, 'MyName', 'my.name', '123-abc')}${hint}`];
  }
  const problems: string[] = [];
  const name = parts.at(-1) ?? '';
  if (parts.length === 2) {
    if (parts[0] === '') problems.push('prefix part must be non-empty');
    else problems.push(...dnsSubdomain(parts[0] ?? '', 'bytes').map((problem) => `prefix part ${problem}`));
  }
  if (name === '') problems.push('name part must be non-empty');
  else if (Buffer.byteLength(name) > 63) problems.push(`name part ${tooLong(63, 'bytes')}`);
  if (!isName(name)) problems.push(`name part ${explain(NAME_PART, NAME, 'MyName', 'my.name', '123-abc')}`);
  return problems;
}

function labelValue(text: string): string[] {
  const problems = checkLength(text, 63, 'bytes');
  if (text === '' || isName(text)) return problems;
  const why =
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character";
  return [...problems, explain(why, `(${NAME})?`, 'MyValue', 'my_value', '12345')];
}

const check =
  (valid: (text: string) => boolean, problem: string): Validate =>
  (text) =>
    valid(text) ? [] : [problem];

const BASE64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=|[A-Za-z0-9+/]{4})$/;
const UUID = /^[0-9a-f]{8}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{12}$/i;

const isDateTime = (text: string): boolean => text.length >= 4 && isTimestamp(text.toUpperCase());

const FORMATS = new Map<string, Format>(
  (
    [
      ['dns1123Label', 'DNS1123Label', dnsLabel, 30],
      ['dns1123Subdomain', 'DNS1123Subdomain', (text) => dnsSubdomain(text), 60],
      ['dns1035Label', 'DNS1035Label', dns1035Label, 30],
      ['qualifiedName', 'QualifiedName', qualifiedName, 60],
      ['dns1123LabelPrefix', 'DNS1123LabelPrefix', prefix(dnsLabel), 30],
      ['dns1123SubdomainPrefix', 'DNS1123SubdomainPrefix', prefix((text) => dnsSubdomain(text)), 60],
      ['dns1035LabelPrefix', 'DNS1035LabelPrefix', prefix(dns1035Label), 30],
      ['labelValue', 'LabelValue', labelValue, 40],
      ['uri', 'URI', (text) => [urlProblem(text)].filter((problem) => problem !== undefined), 1103],
      ['uuid', 'uuid', check((text) => UUID.test(text), 'does not match the UUID format'), 70],
      ['byte', 'byte', check((text) => BASE64.test(text), 'invalid base64'), 84],
      ['date', 'date', check((text) => parseDate(text) !== undefined, 'invalid date'), 71],
      ['datetime', 'datetime', check(isDateTime, 'invalid datetime'), 71],
    ] satisfies [string, string, Validate, number][]
  ).map(([key, name, validate, size]) => [key, new Format(name, validate, size)]),
);

function named(name: string): Value {
  const format = FORMATS.get(name);
  return format === undefined ? Optional.none : new Optional(format);
}

function validate(format: Value, text: Value): Value {
  if (!(format instanceof Format) || typeof text !== 'string') return NO_SUCH_OVERLOAD;
  const problems = format.validate(text);
  return problems.length === 0 ? Optional.none : new Optional(new ArrayList(problems));
}

export const FORMAT_LIBRARY: Library = {
  types: [typeConstant(FORMAT)],
  functions: [
    fn('validate', method('format-validate', [FORMAT, STRING], optionalOf(listOf(STRING)), validate)),
    fn('format.named', overload('format-named', [STRING], optionalOf(FORMAT), onString(named))),
    ...Array.from(FORMATS, ([key, format]) =>
      fn(
        `format.${key}`,
        overload(`format.${key}`, [], FORMAT, () => format),
      ),
    ),
  ],
};
