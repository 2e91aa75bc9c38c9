import { isEmailAddress } from './email.js';
import { isCidr, isIPv4, isIPv6, isMac } from './network-formats.js';
import { isRequestUri } from './request-uri.js';

/** Names are compared without their dashes, so `date-time` is `datetime`. */
const normalize = (name: string): string => name.replaceAll('-', '');

// These expressions are our own and linear in the text; only users' expressions need the other engine.
const HOSTNAME_LABELS =
  /^([a-zA-Z0-9\p{S}\p{L}]((-?[a-zA-Z0-9\p{S}\p{L}]{0,62})?)|([a-zA-Z0-9\p{S}\p{L}](([a-zA-Z0-9-\p{S}\p{L}]{0,61}[a-zA-Z0-9\p{S}\p{L}])?)(\.)){1,}([a-zA-Z\p{L}]){2,63})$/u;
const UUID = /^[0-9a-f]{8}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{12}$/i;
const UUID3 = /^[0-9a-f]{8}-?[0-9a-f]{4}-?3[0-9a-f]{3}-?[0-9a-f]{4}-?[0-9a-f]{12}$/i;
const UUID4 = /^[0-9a-f]{8}-?[0-9a-f]{4}-?4[0-9a-f]{3}-?[89ab][0-9a-f]{3}-?[0-9a-f]{12}$/i;
const UUID5 = /^[0-9a-f]{8}-?[0-9a-f]{4}-?5[0-9a-f]{3}-?[89ab][0-9a-f]{3}-?[0-9a-f]{12}$/i;
const CREDIT_CARD =
  /^(?:4[0-9]{12}(?:[0-9]{3})?|5[1-5][0-9]{14}|6(?:011|5[0-9][0-9])[0-9]{12}|3[47][0-9]{13}|3(?:0[0-5]|[68][0-9])[0-9]{11}|(?:2131|1800|35\d{3})\d{11})$/;
const SSN = /^\d{3}[- ]?\d{2}[- ]?\d{4}$/;
const HEX_COLOR = /^#?([0-9a-fA-F]{3}|[0-9a-fA-F]{6})$/;
const RGB_PART = '(0|[1-9]\\d?|1\\d\\d?|2[0-4]\\d|25[0-5])';
const RGB_SPACE = '[\\t\\n\\f\\r ]*';
const RGB_COLOR = new RegExp(
  `^rgb\\(${RGB_SPACE}${[RGB_PART, RGB_PART, RGB_PART].join(`${RGB_SPACE},${RGB_SPACE}`)}${RGB_SPACE}\\)$`,
);
const BASE64 = /^[A-Za-z0-9+/]*={0,2}$/;
const TIME = /^([0-9]{2}):([0-9]{2}):([0-9]{2})(.[0-9]+)?(z|([+-][0-9]{2}:[0-9]{2}))$/u;
const SHORT_NAME = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?$/;

const utf8Length = (text: string): number => Buffer.byteLength(text);

function isHostname(text: string): boolean {
  // Check the length first, because it bounds the work of the expression.
  if (utf8Length(text) > 255 || !text.split('.').every((part) => utf8Length(part) <= 63)) return false;
  return HOSTNAME_LABELS.test(text);
}

function isCreditCard(text: string): boolean {
  const digits = text.replace(/[^0-9]+/g, '');
  if (!CREDIT_CARD.test(digits)) return false;
  let sum = 0;
  for (let i = 0; i < digits.length; i++) {
    const digit = Number(digits[digits.length - 1 - i]);
    const doubled = i % 2 === 1 ? digit * 2 : digit;
    sum += doubled >= 10 ? (doubled % 10) + 1 : doubled;
  }
  return sum % 10 === 0;
}

function isIsbn10(text: string): boolean {
  const digits = text.replace(/[\t\n\f\r -]+/g, '');
  if (!/^(?:[0-9]{9}X|[0-9]{10})$/.test(digits)) return false;
  let sum = 0;
  for (let i = 0; i < 9; i++) sum += (i + 1) * Number(digits[i]);
  return (sum + 10 * (digits[9] === 'X' ? 10 : Number(digits[9]))) % 11 === 0;
}

function isIsbn13(text: string): boolean {
  const digits = text.replace(/[\t\n\f\r -]+/g, '');
  if (!/^[0-9]{13}$/.test(digits)) return false;
  let sum = 0;
  for (let i = 0; i < 12; i++) sum += (i % 2 === 0 ? 1 : 3) * Number(digits[i]);
  return Number(digits[12]) === (10 - (sum % 10)) % 10;
}

/** An empty text is not base64; padding is required. */
function isBase64(text: string): boolean {
  return text.length > 0 && text.length % 4 === 0 && BASE64.test(text);
}

const DAYS = [31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];

function isDate(text: string): boolean {
  const match = /^(\d{4})-(\d{2})-(\d{2})$/.exec(text);
  if (match === null) return false;
  const [year, month, day] = [Number(match[1]), Number(match[2]), Number(match[3])];
  const leap = year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0);
  const days = month === 2 && leap ? 29 : (DAYS[month - 1] ?? 0);
  return day >= 1 && day <= days;
}

function isDateTime(text: string): boolean {
  const parts = text.toLowerCase().split('t');
  const [date, time] = parts;
  if (text.length < 4 || date === undefined || time === undefined || !isDate(date)) return false;
  const match = TIME.exec(time);
  if (match === null) return false;
  return (match[1] ?? '') <= '23' && (match[2] ?? '') <= '59' && (match[3] ?? '') <= '59';
}

const GO_DURATION = /^[-+]?(?:0|(?:(?:\d+(?:\.\d*)?|\.\d+)(?:ns|us|µs|μs|ms|s|m|h))+)$/;
const GO_UNITS: Readonly<Record<string, number>> = {
  ns: 1,
  us: 1e3,
  µs: 1e3,
  μs: 1e3,
  ms: 1e6,
  s: 1e9,
  m: 60e9,
  h: 3600e9,
};
const DURATION_UNITS = [
  ['ns', 'nano'],
  ['us', 'µs', 'micro'],
  ['ms', 'milli'],
  ['s', 'sec'],
  ['m', 'min'],
  ['h', 'hr', 'hour'],
  ['d', 'day'],
  ['w', 'wk', 'week'],
];

/** Accepts Go's duration syntax, or any text that contains numbers with units, as Scala writes them. */
function isDuration(text: string): boolean {
  if (isGoDuration(text)) return true;
  let found = false;
  for (const { digits, unit } of amounts(text)) {
    if (digits.length > 19 || BigInt(digits) >= 1n << 63n) return false;
    const lower = unit.toLowerCase();
    found ||= DURATION_UNITS.some((names) => names.includes(lower) || lower.startsWith(names.at(-1) ?? unit));
  }
  return found;
}

/** Yields numbers with a unit in one pass: a regular expression would try every digit of a long run as a start. */
function* amounts(text: string): Generator<{ digits: string; unit: string }> {
  const run = (from: number, pattern: RegExp): number => {
    let at = from;
    while (at < text.length && pattern.test(text.charAt(at))) at++;
    return at;
  };
  for (let at = 0; at < text.length;) {
    const digits = run(at, /[0-9]/);
    if (digits === at) {
      at++;
      continue;
    }
    const unit = run(digits, /[\t\n\f\r ]/);
    const end = run(unit, /[A-Za-zµ]/);
    if (end > unit) yield { digits: text.slice(at, digits).replace(/^0+(?=.)/, ''), unit: text.slice(unit, end) };
    at = end;
  }
}

function isGoDuration(text: string): boolean {
  if (!GO_DURATION.test(text)) return false;
  let total = 0;
  for (const [, amount = '', unit = ''] of text.matchAll(/(\d+(?:\.\d*)?|\.\d+)(ns|us|µs|μs|ms|s|m|h)/g)) {
    total += Number(amount) * (GO_UNITS[unit] ?? 0);
  }
  return total < 2 ** 63;
}

/** The formats that kube-apiserver checks, by normalized name. */
const CHECKS: Readonly<Record<string, (text: string) => boolean>> = {
  bsonobjectid: (text) => /^[0-9a-fA-F]{24}$/.test(text),
  uri: isRequestUri,
  email: isEmailAddress,
  hostname: isHostname,
  ipv4: isIPv4,
  ipv6: isIPv6,
  cidr: isCidr,
  mac: isMac,
  uuid: (text) => UUID.test(text),
  uuid3: (text) => UUID3.test(text),
  uuid4: (text) => UUID4.test(text),
  uuid5: (text) => UUID5.test(text),
  isbn: (text) => isIsbn10(text) || isIsbn13(text),
  isbn10: isIsbn10,
  isbn13: isIsbn13,
  creditcard: isCreditCard,
  ssn: (text) => text.length === 11 && SSN.test(text),
  hexcolor: (text) => HEX_COLOR.test(text),
  rgbcolor: (text) => RGB_COLOR.test(text),
  byte: isBase64,
  password: () => true,
  date: isDate,
  duration: isDuration,
  datetime: isDateTime,
  k8sshortname: (text) => text.length <= 63 && SHORT_NAME.test(text),
  k8slongname: (text) => text.length <= 253 && text.split('.').every((part) => SHORT_NAME.test(part)),
};

const isKnownTextFormat = (format: string): boolean => Object.hasOwn(CHECKS, normalize(format));

/** Reports whether kube-apiserver knows the format for the type; an empty `type` means none or several. */
export function isRecognizedFormat(type: string, format: string): boolean {
  switch (type) {
    case '':
    case 'string':
      return isKnownTextFormat(format);
    case 'integer':
      return format === 'int32' || format === 'int64';
    case 'number':
      return format === 'float' || format === 'double';
    default:
      return false;
  }
}

/** Returns the format if it is checked; unrecognized formats count as none. */
export function supportedFormat(types: readonly string[], format: string): string {
  const type = types.length === 1 ? (types[0] ?? '') : '';
  return format !== '' && isRecognizedFormat(type, format) ? format : '';
}

/** Returns the check of strings for a format that `supportedFormat` returned. */
export function formatCheckFor(format: string): ((text: string) => boolean) | undefined {
  return isKnownTextFormat(format) ? CHECKS[normalize(format)] : undefined;
}
