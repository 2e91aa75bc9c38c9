import { MAX_INT, MIN_INT, shortInteger } from './integer.js';
import { CelError, Duration, Timestamp } from './value.js';

/** The seconds of 0001-01-01T00:00:00Z and 9999-12-31T23:59:59Z. */
const MIN_SECONDS = -62135596800;
const MAX_SECONDS = 253402300799;
const BILLION = 1000000000n;

const TIMESTAMP_OVERFLOW = new CelError('timestamp overflow');
const DURATION_OVERFLOW = new CelError('integer overflow');

export function timestamp(seconds: number, nanos: number, offset = 0): Timestamp | CelError {
  return seconds < MIN_SECONDS || seconds > MAX_SECONDS ? TIMESTAMP_OVERFLOW : new Timestamp(seconds, nanos, offset);
}

export function duration(nanos: bigint): Duration | CelError {
  return nanos < MIN_INT || nanos > MAX_INT ? DURATION_OVERFLOW : new Duration(nanos);
}

const totalNanos = (at: Timestamp): bigint => BigInt(at.seconds) * BILLION + BigInt(at.nanos);

export function shift(at: Timestamp, nanos: bigint): Timestamp | CelError {
  const total = totalNanos(at) + nanos;
  let seconds = total / BILLION;
  let rest = total % BILLION;
  if (rest < 0n) {
    rest += BILLION;
    seconds -= 1n;
  }
  return timestamp(Number(seconds), Number(rest), at.offset);
}

export const between = (a: Timestamp, b: Timestamp): Duration | CelError => duration(totalNanos(a) - totalNanos(b));

export function compareTimestamps(a: Timestamp, b: Timestamp): number {
  return Math.sign(a.seconds - b.seconds) || Math.sign(a.nanos - b.nanos);
}

const RFC3339 = /^(\d{4})-(\d{2})-(\d{2})T(\d{1,2}):(\d{2}):(\d{2})(?:[.,](\d+))?(Z|[+-]\d{2}:\d{2})$/;

/** Parses an RFC 3339 time. Returns undefined if the string does not have that format. */
export function parseTimestamp(text: string): Timestamp | CelError | undefined {
  const read = readTimestamp(text);
  return read === undefined ? undefined : timestamp(read.seconds, read.nanos, read.offset);
}

/** Like parseTimestamp, but also for years that CEL's own conversion refuses, such as 0000. */
export function readTimestamp(text: string): Timestamp | undefined {
  const match = RFC3339.exec(text);
  if (match === null) return undefined;
  const [year = 0, month = 0, day = 0, hour = 0, minute = 0, second = 0] = match.slice(1, 7).map(Number);
  if (month < 1 || month > 12 || day < 1 || day > daysIn(year, month)) return undefined;
  if (hour > 23 || minute > 59 || second > 59) return undefined;
  const offset = zoneOffset(match[8] ?? 'Z');
  if (offset === undefined) return undefined;
  const nanos = Number((match[7] ?? '').slice(0, 9).padEnd(9, '0'));
  return new Timestamp(epoch(year, month, day, hour, minute, second) - offset, nanos, offset);
}

export const isTimestamp = (text: string): boolean => parseTimestamp(text) instanceof Timestamp;

/** Parses a date of the form YYYY-MM-DD. */
export function parseDate(text: string): Timestamp | undefined {
  const match = /^(\d{4})-(\d{2})-(\d{2})$/.exec(text);
  if (match === null) return undefined;
  const [year = 0, month = 0, day = 0] = match.slice(1).map(Number);
  if (month < 1 || month > 12 || day < 1 || day > daysIn(year, month)) return undefined;
  return new Timestamp(epoch(year, month, day, 0, 0, 0), 0);
}

function daysIn(year: number, month: number): number {
  if (month === 2) return year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0) ? 29 : 28;
  return month === 4 || month === 6 || month === 9 || month === 11 ? 30 : 31;
}

/** Returns the seconds since the epoch. It shifts the year by 400, because Date.UTC takes years below 100 as 19xx. */
function epoch(year: number, month: number, day: number, hour: number, minute: number, second: number): number {
  return Date.UTC(year + 400, month - 1, day, hour, minute, second) / 1000 - 400 * 365.2425 * 86400;
}

function zoneOffset(zone: string): number | undefined {
  if (zone === 'Z') return 0;
  const hours = Number(zone.slice(1, 3));
  const minutes = Number(zone.slice(4));
  if (hours > 24 || minutes > 59) return undefined;
  return (zone.startsWith('-') ? -1 : 1) * (hours * 3600 + minutes * 60);
}

/** The length in seconds of the 400 years after which the calendar repeats, including weekdays. */
const CYCLE = 12622780800;
const CYCLE_YEARS = 400;
/** Timestamps further from the epoch are mapped to an equivalent time in another cycle, because a Date ends in the year 275760. */
const LAST_CYCLE = 8e12;

const cyclesOf = (seconds: number): number => (Math.abs(seconds) > LAST_CYCLE ? Math.floor(seconds / CYCLE) : 0);

/** The number of years to add to the year that `inZone` returns. */
export const cycleYearOffset = (at: Timestamp): number => cyclesOf(at.seconds) * CYCLE_YEARS;

/** Formats a timestamp as RFC 3339 with as many fractional digits as needed, with the offset of the text that it was read from. */
export function formatTimestamp(at: Timestamp): string {
  const moment = new Date((at.seconds + at.offset - cyclesOf(at.seconds) * CYCLE) * 1000);
  const year = moment.getUTCFullYear() + cycleYearOffset(at);
  const iso = moment.toISOString();
  const digits = String(Math.abs(year)).padStart(4, '0');
  const date = `${year < 0 ? '-' : ''}${digits}${iso.slice(iso.indexOf('-', 1), -5)}`;
  const fraction = at.nanos === 0 ? '' : `.${String(at.nanos).padStart(9, '0').replace(/0+$/, '')}`;
  return `${date}${fraction}${zoneText(at.offset)}`;
}

function zoneText(offset: number): string {
  if (offset === 0) return 'Z';
  const minutes = Math.abs(offset) / 60;
  const two = (value: number): string => String(value).padStart(2, '0');
  return `${offset < 0 ? '-' : '+'}${two(Math.floor(minutes / 60))}:${two(minutes % 60)}`;
}

export function formatDuration(length: Duration): string {
  const seconds = Number(length.nanos / BILLION) + Number(length.nanos % BILLION) / 1e9;
  return `${plainNumber(seconds)}s`;
}

/** Formats a number without an exponent. */
export function plainNumber(value: number): string {
  const text = String(value);
  const match = /^(-?)(\d+)(?:\.(\d+))?e([+-]\d+)$/.exec(text);
  if (match === null) return Object.is(value, -0) ? '-0' : text;
  const [, sign = '', whole = '', fraction = '', power = '0'] = match;
  const exponent = Number(power);
  const digits = whole + fraction;
  const point = whole.length + exponent;
  if (point <= 0) return `${sign}0.${'0'.repeat(-point)}${digits}`;
  if (point >= digits.length) return sign + digits + '0'.repeat(point - digits.length);
  return `${sign}${digits.slice(0, point)}.${digits.slice(point)}`;
}

const UNITS: Record<string, bigint> = {
  ns: 1n,
  us: 1000n,
  µs: 1000n,
  μs: 1000n,
  ms: 1000000n,
  s: BILLION,
  m: 60n * BILLION,
  h: 3600n * BILLION,
};

const MAX_FRACTION = 19;

/** Parses a duration in Go's format (`1h2m3.5s`). Returns undefined if it is malformed or does not fit into 64 bits. */
export function parseDuration(text: string): bigint | undefined {
  const match = /^([+-]?)(.*)$/s.exec(text);
  const body = match?.[2] ?? '';
  if (body === '0') return 0n;
  if (body === '') return undefined;
  const part = /(\d*)(?:\.(\d*))?(ns|us|µs|μs|ms|s|m|h)/y;
  let total = 0n;
  while (part.lastIndex < body.length) {
    const found = part.exec(body);
    if (found === null) return undefined;
    const [, whole = '', fraction = '', unit = ''] = found;
    if (whole === '' && fraction === '') return undefined;
    const scale = UNITS[unit] ?? 1n;
    const count = shortInteger(whole);
    if (count === undefined) return undefined;
    total += count * scale;
    // Further digits are fractions of a nanosecond in any unit.
    const digits = fraction.slice(0, MAX_FRACTION);
    if (digits !== '') total += (BigInt(digits) * scale) / 10n ** BigInt(digits.length);
    if (total > MAX_INT + 1n) return undefined;
  }
  const signed = match?.[1] === '-' ? -total : total;
  return signed > MAX_INT || signed < MIN_INT ? undefined : signed;
}

const MAX_ZONES = 256;
const zones = new Map<string, Intl.DateTimeFormat>();

function zone(name: string): Intl.DateTimeFormat | undefined {
  const known = zones.get(name);
  if (known !== undefined) return known;
  try {
    const format = new Intl.DateTimeFormat('en-US', {
      timeZone: name,
      hourCycle: 'h23',
      era: 'short',
      year: 'numeric',
      month: 'numeric',
      day: 'numeric',
      hour: 'numeric',
      minute: 'numeric',
      second: 'numeric',
    });
    if (zones.size >= MAX_ZONES) zones.clear();
    zones.set(name, format);
    return format;
  } catch {
    return undefined;
  }
}

/** Returns the local time in a zone, in the UTC fields of a Date. The zone is empty, UTC, `±HH:MM` or an IANA name. */
export function inZone(at: Timestamp, name: string): Date | CelError {
  const millis = (at.seconds - cyclesOf(at.seconds) * CYCLE) * 1000 + Math.floor(at.nanos / 1e6);
  if (name === '' || name === 'UTC') return new Date(millis);
  const colon = name.indexOf(':');
  if (colon >= 0) return fixedZone(millis, name, colon);
  const format = /^[A-Za-z0-9_+\-/]+$/.test(name) ? zone(name) : undefined;
  if (format === undefined) return new CelError(`unknown time zone ${name}`);
  const fields: Record<string, number> = {};
  let era = 1;
  for (const part of format.formatToParts(millis)) {
    if (part.type === 'era') era = part.value === 'BC' ? -1 : 1;
    else fields[part.type] = Number(part.value);
  }
  const year = era < 0 ? 1 - (fields['year'] ?? 1) : (fields['year'] ?? 1);
  const seconds = epoch(
    year,
    fields['month'] ?? 1,
    fields['day'] ?? 1,
    fields['hour'] ?? 0,
    fields['minute'] ?? 0,
    fields['second'] ?? 0,
  );
  return new Date(seconds * 1000 + (((millis % 1000) + 1000) % 1000));
}

function fixedZone(millis: number, name: string, colon: number): Date | CelError {
  const number = (text: string): number | CelError =>
    /^[+-]?\d+$/.test(text) ? Number(text) : new CelError(`strconv.Atoi: parsing "${text}": invalid syntax`);
  const hours = number(name.slice(0, colon));
  if (hours instanceof CelError) return hours;
  const minutes = number(name.slice(colon + 1));
  if (minutes instanceof CelError) return minutes;
  if (minutes < 0 || minutes > 59) return new CelError(`timezone offset minutes out of range [0, 59]: ${name}`);
  const offset = name.startsWith('-') ? hours * 60 - minutes : hours * 60 + minutes;
  return new Date(millis + offset * 60000);
}
