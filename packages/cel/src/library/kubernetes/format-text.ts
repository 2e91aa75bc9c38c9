import { formatKey } from '../../values/access.js';
import { isInteger } from '../../values/integer.js';
import { plainNumber } from '../../values/time.js';
import { compareText, quoted } from '../../values/text.js';
import {
  CelError,
  CelList,
  CelMap,
  Double,
  Duration,
  Timestamp,
  TypeValue,
  Uint,
  type Value,
  typeName,
} from '../../values/value.js';
import { toText } from '../../values/conversions.js';
import { chargeWork } from '../../work.js';
import { checkTextLength } from '../helpers.js';

/** Go's default precision for %f and %e. */
const DEFAULT_PRECISION = 6;
/** The maximum precision: no double has more significant digits after the point, so any further ones would be zeros. */
const MAX_PRECISION = 1100;

type Formatted = string | CelError;
/** Formats an argument as a clause of the format string requires. */
type Clause = (value: Value) => Formatted;

const integerOf = (value: Value): bigint | undefined => {
  if (isInteger(value)) return BigInt(value);
  return value instanceof Uint ? value.value : undefined;
};

const STRING_CLAUSE =
  'string clause can only be used on strings, bools, bytes, ints, doubles, maps, lists, types, durations, and timestamps, was given ';

function text(value: Value): Formatted {
  if (value instanceof CelList) return list(value);
  if (value instanceof CelMap) return map(value);
  if (value === null) return 'null';
  if (value instanceof TypeValue) return value.name;
  const converted = toText(value);
  if (typeof converted === 'string') return converted;
  return new CelError(STRING_CLAUSE + typeName(value));
}

/** Units of work per value inside a list or map, and per clause. */
const PER_ITEM = 8;

/** Formats a value inside a list or map: strings are quoted, times are wrapped. */
function nested(value: Value): Formatted {
  chargeWork(PER_ITEM);
  if (value instanceof Double) {
    if (Number.isFinite(value.value)) return value.value.toFixed(DEFAULT_PRECISION);
    return quoted(formatKey(value));
  }
  const plain = text(value);
  if (typeof plain !== 'string') return new CelError(`no formatting function for ${typeName(value)}`);
  if (typeof value === 'string') {
    chargeWork(plain.length >>> 2);
    return quoted(plain);
  }
  if (value instanceof Uint8Array) return `b${quoted(plain)}`;
  if (value instanceof Timestamp) return `timestamp(${quoted(plain)})`;
  return value instanceof Duration ? `duration(${quoted(plain)})` : plain;
}

function list(value: CelList): Formatted {
  const parts: string[] = [];
  let length = 0;
  for (const item of value) {
    const part = nested(item);
    if (typeof part !== 'string') return part;
    parts.push(part);
    checkTextLength((length += part.length + 2));
  }
  return `[${parts.join(', ')}]`;
}

function map(value: CelMap): Formatted {
  const parts: [string, string][] = [];
  let length = 0;
  for (const key of value.keys()) {
    const keyText =
      key instanceof Double ? new CelError('no formatting function for map key of type double') : nested(key);
    const item = nested(value.find(key) ?? null);
    if (typeof keyText !== 'string') return keyText;
    if (typeof item !== 'string') return item;
    parts.push([keyText, item]);
    checkTextLength((length += keyText.length + item.length + 3));
  }
  parts.sort((a, b) => compareText(a[0], b[0]));
  return `{${parts.map(([key, item]) => `${key}:${item}`).join(', ')}}`;
}

function decimal(value: Value): Formatted {
  const number = integerOf(value);
  if (number !== undefined) return number.toString();
  return new CelError(`decimal clause can only be used on integers, was given ${typeName(value)}`);
}

/** The double that a floating-point clause prints. The strings NaN, Infinity and -Infinity are accepted too. */
function special(value: Value): number | undefined {
  if (value instanceof Double) return value.value;
  if (value === 'NaN') return NaN;
  return value === 'Infinity' ? Infinity : value === '-Infinity' ? -Infinity : undefined;
}

const infinite = (value: number): string | undefined =>
  Number.isNaN(value) ? 'NaN' : Number.isFinite(value) ? undefined : value > 0 ? '∞' : '-∞';

/** Groups of three digits, as the English locale prints them. */
const grouped = (digits: string): string => digits.replace(/\B(?=(\d{3})+(?!\d))/g, ',');

/** Formats like toFixed, but rounds exact halves to even, as Go does; toFixed rounds them up. */
function halfEven(value: number, precision: number): string {
  const rounded = value.toFixed(precision);
  if (precision > 50) return rounded;
  const exact = value.toFixed(Math.min(100, precision + 50));
  if (!/^[^.]*\.?5?0*$/.test(exact.slice(precision === 0 ? exact.indexOf('.') : exact.indexOf('.') + 1 + precision)))
    return rounded;
  const half = exact.slice(0, exact.indexOf('.') + 1 + precision).replace(/\.$/, '');
  const isHalf = exact[exact.indexOf('.') + 1 + precision] === '5';
  return isHalf && Number(half.at(-1)) % 2 === 0 ? half : rounded;
}

/** The decimal expansion of a double. Its exact value is rounded half to even. */
function exactFixed(value: number, precision: number): string {
  if (Math.abs(value) < 1e21 && precision <= 100) return halfEven(value, precision);
  const [whole = '0', fraction = ''] = plainNumber(value).split('.');
  return precision === 0 ? whole : `${whole}.${fraction.slice(0, precision).padEnd(precision, '0')}`;
}

const fixed =
  (precision: number): Clause =>
  (value) => {
    const number = special(value);
    if (number === undefined)
      return new CelError(`fixed-point clause can only be used on doubles, was given ${typeName(value)}`);
    const name = infinite(number);
    if (name !== undefined) return name;
    const [whole = '', fraction] = exactFixed(Math.abs(number), precision).split('.');
    const sign = number < 0 || Object.is(number, -0) ? '-' : '';
    return sign + grouped(whole) + (fraction === undefined ? '' : `.${fraction}`);
  };

const SUPERSCRIPTS = '⁰¹²³⁴⁵⁶⁷⁸⁹';

/** Formats like the English locale: 1.5×10⁰³. The precision of the clause is used as the width; there are always six digits. */
const scientific =
  (width: number): Clause =>
  (value) => {
    const number = special(value);
    if (number === undefined)
      return new CelError(`scientific clause can only be used on doubles, was given ${typeName(value)}`);
    return (infinite(number) ?? powerOfTen(number)).padStart(width);
  };

function powerOfTen(number: number): string {
  const [mantissa = '', power = '0'] = number.toExponential(DEFAULT_PRECISION).split('e');
  const exponent = Number(power);
  const digits = String(Math.abs(exponent)).padStart(2, '0');
  const raised = Array.from(digits, (digit) => SUPERSCRIPTS[Number(digit)] ?? '').join('');
  return `${mantissa}×10${exponent < 0 ? '⁻' : ''}${raised}`;
}

function binary(value: Value): Formatted {
  if (typeof value === 'boolean') return value ? '1' : '0';
  const number = integerOf(value);
  if (number !== undefined) return number.toString(2);
  return new CelError(`only integers and bools can be formatted as binary, was given ${typeName(value)}`);
}

function hex(value: Value): Formatted {
  if (typeof value === 'string' || value instanceof Uint8Array) return Buffer.from(value as string).toString('hex');
  const number = integerOf(value);
  if (number !== undefined) return number.toString(16);
  return new CelError(`only integers, byte buffers, and strings can be formatted as hex, was given ${typeName(value)}`);
}

function upperHex(value: Value): Formatted {
  const digits = hex(value);
  return typeof digits === 'string' ? digits.toUpperCase() : digits;
}

function octal(value: Value): Formatted {
  const number = integerOf(value);
  if (number !== undefined) return number.toString(8);
  return new CelError(`octal clause can only be used on integers, was given ${typeName(value)}`);
}

function clauseOf(letter: string, precision: number): Clause | undefined {
  switch (letter) {
    case 's':
      return text;
    case 'd':
      return decimal;
    case 'f':
      return fixed(precision);
    case 'e':
      return scientific(precision);
    case 'b':
      return binary;
    case 'x':
      return hex;
    case 'X':
      return upperHex;
    case 'o':
      return octal;
    default:
      return undefined;
  }
}

/** Implements `'%s is %d'.format([…])`. */
export function formatText(format: string, args: CelList): Value {
  let result = '';
  let used = 0;
  for (let at = 0; at < format.length;) {
    const next = format.indexOf('%', at);
    if (next < 0) return result + format.slice(at);
    result += format.slice(at, next);
    if (format[next + 1] === '%') {
      result += '%';
      at = next + 2;
      continue;
    }
    if (used >= args.size) return new CelError(`index ${used} out of range`);
    if (next + 1 >= format.length) return new CelError('unexpected end of string');
    chargeWork(PER_ITEM);
    const clause = parseClause(format, next + 1);
    if ('error' in clause) return new CelError(`could not parse formatting clause: ${clause.error}`);
    const formatted = clause.run(args.get(used++));
    if (typeof formatted !== 'string') return new CelError(`error during formatting: ${formatted.message}`);
    checkTextLength(result.length + formatted.length);
    result += formatted;
    at = clause.end;
  }
  return result;
}

function parseClause(format: string, at: number): { run: Clause; end: number } | { error: string } {
  let end = at;
  let precision = DEFAULT_PRECISION;
  if (format[end] === '.') {
    const digits = /^\d*/.exec(format.slice(end + 1))?.[0] ?? '';
    end += 1 + digits.length;
    if (end >= format.length)
      return { error: 'error while parsing precision: could not find end of precision specifier' };
    if (digits === '') {
      return {
        error:
          'error while parsing precision: error while converting precision to integer: strconv.Atoi: parsing "": invalid syntax',
      };
    }
    precision = Math.min(Number(digits), MAX_PRECISION);
  }
  const letter = String.fromCodePoint(format.codePointAt(end) ?? 0);
  const run = clauseOf(letter, precision);
  return run === undefined ? { error: `unrecognized formatting clause "${letter}"` } : { run, end: end + 1 };
}
