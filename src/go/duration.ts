import { getOwn } from '../util/get-own.js';

const UNITS: Readonly<Record<string, number>> = {
  ns: 1e-6,
  us: 1e-3,
  µs: 1e-3,
  μs: 1e-3,
  ms: 1,
  s: 1000,
  m: 60_000,
  h: 3_600_000,
};

/** The maximum of int64 nanoseconds, in milliseconds. */
const MAX_MILLIS = 2 ** 63 / 1e6;

/** Like Go's time.ParseDuration: returns the milliseconds of `1h2m3.5s`. Throws an Error with Go's message. */
export function parseGoDuration(text: string): number {
  const invalid = (): Error => new Error(`time: invalid duration ${goQuote(text)}`);
  let rest = text;
  let sign = 1;
  if (rest.startsWith('-') || rest.startsWith('+')) {
    if (rest.startsWith('-')) sign = -1;
    rest = rest.slice(1);
  }
  if (rest === '0') return 0;
  if (rest === '') throw invalid();
  let total = 0;
  while (rest !== '') {
    const number = /^(\d*)(?:\.(\d*))?/.exec(rest);
    const whole = number?.[1] ?? '';
    const fraction = number?.[2] ?? '';
    if (whole === '' && fraction === '') throw invalid();
    rest = rest.slice(number?.[0].length ?? 0);
    const unit = /^[^.\d]*/.exec(rest)?.[0] ?? '';
    if (unit === '') throw new Error(`time: missing unit in duration ${goQuote(text)}`);
    const scale = getOwn(UNITS, unit);
    if (scale === undefined) throw new Error(`time: unknown unit ${goQuote(unit)} in duration ${goQuote(text)}`);
    total += Number(`${whole === '' ? '0' : whole}.${fraction === '' ? '0' : fraction}`) * scale;
    if (total > MAX_MILLIS) throw invalid();
    rest = rest.slice(unit.length);
  }
  return sign * total || 0;
}

/** Like Go's time.quote: control characters and non-ASCII characters are escaped as bytes. */
function goQuote(text: string): string {
  let out = '"';
  for (const char of text) {
    if (char === '"' || char === '\\') out += `\\${char}`;
    else if (char >= ' ' && char < '\x7f') out += char;
    else for (const byte of Buffer.from(char)) out += `\\x${byte.toString(16).padStart(2, '0')}`;
  }
  return `${out}"`;
}

/** Like Go's Duration.String, for milliseconds with nanosecond precision: `1m0s`, `500ms`, `42.3µs`, `0s`. */
export function formatGoDuration(millis: number): string {
  const sign = millis < 0 ? '-' : '';
  const abs = Number.isInteger(millis) ? Math.abs(millis) : Math.round(Math.abs(millis) * 1e6) / 1e6;
  if (abs === 0) return '0s';
  if (abs < 0.001) return `${sign}${Math.round(abs * 1e6)}ns`;
  if (abs < 1) return `${sign}${Math.round(abs * 1e6) / 1000}µs`;
  if (abs < 1000) return `${sign}${abs}ms`;
  const hours = Math.floor(abs / 3_600_000);
  const minutes = Math.floor((abs % 3_600_000) / 60_000);
  const seconds = Math.round((abs % 60_000) * 1e6) / 1e9;
  if (hours > 0) return `${sign}${hours}h${minutes}m${seconds}s`;
  return minutes > 0 ? `${sign}${minutes}m${seconds}s` : `${sign}${seconds}s`;
}
