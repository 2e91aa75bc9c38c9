/**
 * The formats of names, as kube-apiserver checks them, with its error messages. There are no regular expressions: the values come
 * from clients and may be megabytes long, so every check is linear.
 */

const utf8Length = (text: string): number => Buffer.byteLength(text, 'utf8');

export const maxLenCharacters = (length: number): string => `must be no more than ${length} characters`;
const maxLenBytes = (length: number): string => `must be no more than ${length} bytes`;

/** Returns the error if a value is longer than `max` bytes. */
const lengthErrors = (value: string, max: number, message = maxLenCharacters): string[] =>
  utf8Length(value) > max ? [message(max)] : [];

export function regexError(message: string, format: string, ...examples: string[]): string {
  if (examples.length === 0) return `${message} (regex used for validation is '${format}')`;
  return `${message} (e.g. ${examples.map((e) => `'${e}', `).join(' or ')}regex used for validation is '${format}')`;
}

export const inclusiveRangeError = (low: number, high: number): string =>
  `must be between ${low} and ${high}, inclusive`;

const LABEL_FORMAT = '[a-z0-9]([-a-z0-9]*[a-z0-9])?';
const LABEL_MESSAGE =
  "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character";
const SUBDOMAIN_FORMAT = `${LABEL_FORMAT}(\\.${LABEL_FORMAT})*`;
const SUBDOMAIN_MESSAGE =
  "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character";
const DNS1035_FORMAT = '[a-z]([-a-z0-9]*[a-z0-9])?';
const DNS1035_MESSAGE =
  "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, and end with an alphanumeric character";
const KEY_FORMAT = '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]';
const KEY_MESSAGE =
  "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character";
const VALUE_MESSAGE =
  "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character";

const isLower = (c: number): boolean => c >= 0x61 && c <= 0x7a;
const isUpper = (c: number): boolean => c >= 0x41 && c <= 0x5a;
const isDigit = (c: number): boolean => c >= 0x30 && c <= 0x39;
const isLowerAlnum = (c: number): boolean => isLower(c) || isDigit(c);
const isAlnum = (c: number): boolean => isLower(c) || isUpper(c) || isDigit(c);
const isKeyChar = (c: number): boolean => isAlnum(c) || c === 0x2d || c === 0x5f || c === 0x2e;

/** Reports whether the text from `start` to `end` is not empty, its first character satisfies `first`, its last `last`, and all others `inner`. */
function shaped(
  text: string,
  start: number,
  end: number,
  first: (c: number) => boolean,
  inner: (c: number) => boolean,
  last: (c: number) => boolean,
): boolean {
  if (end <= start || !first(text.charCodeAt(start)) || (end > start + 1 && !last(text.charCodeAt(end - 1))))
    return false;
  for (let i = start + 1; i < end - 1; i++) if (!inner(text.charCodeAt(i))) return false;
  return true;
}

const isLabelChar = (c: number): boolean => isLowerAlnum(c) || c === 0x2d;

const isLabelShaped = (text: string, start: number, end: number): boolean =>
  shaped(text, start, end, isLowerAlnum, isLabelChar, isLowerAlnum);

function isSubdomainShaped(text: string): boolean {
  let start = 0;
  for (;;) {
    const dot = text.indexOf('.', start);
    if (!isLabelShaped(text, start, dot < 0 ? text.length : dot)) return false;
    if (dot < 0) return true;
    start = dot + 1;
  }
}

const isKeyShaped = (text: string): boolean => shaped(text, 0, text.length, isAlnum, isKeyChar, isAlnum);

function subdomain(value: string, maxLength: (length: number) => string): string[] {
  const errors = lengthErrors(value, 253, maxLength);
  if (!isSubdomainShaped(value)) errors.push(regexError(SUBDOMAIN_MESSAGE, SUBDOMAIN_FORMAT, 'example.com'));
  return errors;
}

export const isDns1123Subdomain = (value: string): string[] => subdomain(value, maxLenCharacters);

export function isDns1123Label(value: string): string[] {
  const errors = lengthErrors(value, 63);
  if (!isLabelShaped(value, 0, value.length)) {
    errors.push(
      isSubdomainShaped(value)
        ? 'must not contain dots'
        : regexError(LABEL_MESSAGE, LABEL_FORMAT, 'my-name', '123-abc'),
    );
  }
  return errors;
}

export function isDns1035Label(value: string): string[] {
  const errors = lengthErrors(value, 63);
  if (!shaped(value, 0, value.length, isLower, isLabelChar, isLowerAlnum)) {
    errors.push(regexError(DNS1035_MESSAGE, DNS1035_FORMAT, 'my-name', 'abc-123'));
  }
  return errors;
}

/** Validates keys of labels and annotations, finalizers, and condition types: `name` or `prefix/name`. */
export function isQualifiedName(value: string): string[] {
  const parts = value.split('/', 3);
  const errors: string[] = [];
  const keyError = (): string => regexError(KEY_MESSAGE, KEY_FORMAT, 'MyName', 'my.name', '123-abc');
  if (parts.length > 2) {
    return [
      `a valid label key ${keyError()} with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')`,
    ];
  }
  const name = parts[parts.length - 1] ?? '';
  if (parts.length === 2) {
    const prefix = parts[0] ?? '';
    if (prefix === '') errors.push('prefix part must be non-empty');
    else errors.push(...subdomain(prefix, maxLenBytes).map((text) => `prefix part ${text}`));
  }
  if (name === '') errors.push('name part must be non-empty');
  else if (utf8Length(name) > 63) errors.push(`name part ${maxLenBytes(63)}`);
  if (!isKeyShaped(name)) errors.push(`name part ${keyError()}`);
  return errors;
}

export function isLabelValue(value: string): string[] {
  const errors = lengthErrors(value, 63, maxLenBytes);
  if (value !== '' && !isKeyShaped(value)) {
    errors.push(regexError(VALUE_MESSAGE, `(${KEY_FORMAT})?`, 'MyValue', 'my_value', '12345'));
  }
  return errors;
}

/** Validates keys of ConfigMaps and Secrets. */
export function isConfigMapKey(value: string): string[] {
  const errors = lengthErrors(value, 253);
  if (!shaped(value, 0, value.length, isKeyChar, isKeyChar, isKeyChar)) {
    errors.push(
      regexError(
        "a valid config key must consist of alphanumeric characters, '-', '_' or '.'",
        '[-._a-zA-Z0-9]+',
        'key.name',
        'KEY_NAME',
        'key-name',
      ),
    );
  }
  errors.push(...changeDirectory(value));
  return errors;
}

/** Validates names of environment variables under the relaxed rule: printable ASCII without `=`. */
export function isRelaxedEnvVarName(value: string): string[] {
  if (value === '') return ['environment variable name must be non-empty'];
  for (let i = 0; i < value.length; i++) {
    const c = value.charCodeAt(i);
    if (c < 0x20 || c > 0x7e || c === 0x3d) {
      return ["a valid environment variable name must consist only of printable ASCII characters other than '='"];
    }
  }
  return [];
}

export function isPortName(port: string): string[] {
  const errors = lengthErrors(port, 15);
  if (!shaped(port, 0, port.length, isLabelChar, isLabelChar, isLabelChar)) {
    errors.push('must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)');
  }
  let letters = false;
  for (let i = 0; i < port.length && !letters; i++) letters = isLower(port.charCodeAt(i));
  if (!letters) errors.push('must contain at least one letter (a-z)');
  if (port.includes('--')) errors.push('must not contain consecutive hyphens');
  if (port.startsWith('-') || port.endsWith('-')) errors.push('must not begin or end with a hyphen');
  return errors;
}

function changeDirectory(value: string): string[] {
  if (value === '.') return ["must not be '.'"];
  if (value === '..') return ["must not be '..'"];
  return value.startsWith('..') ? ["must not start with '..'"] : [];
}

function isPathSegmentPrefix(name: string): string[] {
  return ['/', '%'].filter((part) => name.includes(part)).map((part) => `may not contain '${part}'`);
}

export function isPathSegmentName(name: string): string[] {
  if (name === '.' || name === '..') return [`may not be '${name}'`];
  return isPathSegmentPrefix(name);
}

/** Returns Go's name[:len-2]+"a": the byte before the dash is dropped too, which is why `A-` passes as well as `a-`. */
function maskTrailingDash(name: string): string {
  if (name.length < 2 || !name.endsWith('-')) return name;
  // Go drops one byte, so part of a longer character remains.
  return `${name.slice(0, -2)}${name.charCodeAt(name.length - 2) > 0x7f ? '\ufffd' : ''}a`;
}

/** Returns the errors in a metadata.name, or in a generateName, which is a `prefix` and may end with a dash. */
export type NameValidator = (name: string, use?: 'prefix') => string[];

export const nameIsDnsSubdomain: NameValidator = (name, use) =>
  isDns1123Subdomain(use === 'prefix' ? maskTrailingDash(name) : name);
export const nameIsDnsLabel: NameValidator = (name, use) =>
  isDns1123Label(use === 'prefix' ? maskTrailingDash(name) : name);
export const nameIsPathSegment: NameValidator = (name, use) =>
  use === 'prefix' ? isPathSegmentPrefix(name) : isPathSegmentName(name);
