/** A text that is no time; the message is the one that Go's parser gives. */
export class TimeError extends Error {
  override readonly name = 'TimeError';
}

const RFC3339 = '2006-01-02T15:04:05Z07:00';
const RFC3339_MICRO = '2006-01-02T15:04:05.000000Z07:00';

/** A moment: seconds since the epoch, and nanoseconds within that second. */
export interface Instant {
  readonly seconds: number;
  readonly nanos: number;
}

/** Seconds of 0001-01-01T00:00:00Z, which counts as no time at all. */
const ZERO_SECONDS = -62135596800;

function quoteTime(text: string): string {
  let out = '"';
  for (const byte of Buffer.from(text, 'utf8')) {
    if (byte === 0x22 || byte === 0x5c) out += `\\${String.fromCharCode(byte)}`;
    else if (byte < 0x20 || byte > 0x7e) out += `\\x${byte.toString(16).padStart(2, '0')}`;
    else out += String.fromCharCode(byte);
  }
  return `${out}"`;
}

class TimeParser {
  private rest: string;
  private outOfRange = '';
  constructor(
    private readonly text: string,
    private readonly layout: string,
  ) {
    this.rest = text;
  }

  private cannot(element: string): never {
    throw new TimeError(
      `parsing time ${quoteTime(this.text)} as ${quoteTime(this.layout)}: cannot parse ${quoteTime(this.rest)} as ${quoteTime(element)}`,
    );
  }

  /** Digits at the cursor: `min` to `max` of them. */
  private digits(min: number, max: number, element: string): number {
    let count = 0;
    while (count < max && /[0-9]/.test(this.rest.charAt(count))) count++;
    if (count < min) this.cannot(element);
    const value = Number(this.rest.slice(0, count));
    this.rest = this.rest.slice(count);
    return value;
  }

  private literal(text: string): void {
    if (!this.rest.startsWith(text)) this.cannot(text);
    this.rest = this.rest.slice(text.length);
  }

  /** Notes the first value that is out of range and stops, as Go does. */
  private check(ok: boolean, what: string): void {
    if (ok) return;
    this.outOfRange = what;
    throw new TimeError(`parsing time ${quoteTime(this.text)}: ${this.outOfRange} out of range`);
  }

  parse(): Instant {
    const micro = this.layout === RFC3339_MICRO;
    const year = this.digits(4, 4, '2006');
    this.literal('-');
    const month = this.digits(2, 2, '01');
    this.check(month >= 1 && month <= 12, 'month');
    this.literal('-');
    const day = this.digits(2, 2, '02');
    this.literal('T');
    const hour = this.digits(1, 2, '15');
    this.check(hour < 24, 'hour');
    this.literal(':');
    const minute = this.digits(2, 2, '04');
    this.check(minute < 60, 'minute');
    this.literal(':');
    const second = this.digits(2, 2, '05');
    this.check(second < 60, 'second');
    const nanos = micro ? this.microseconds() : this.fraction();
    const offset = this.zone();
    if (this.rest !== '') {
      throw new TimeError(`parsing time ${quoteTime(this.text)}: extra text: ${quoteTime(this.rest)}`);
    }
    const date = new Date(0);
    date.setUTCFullYear(year, month, 0);
    this.check(day >= 1 && day <= date.getUTCDate(), 'day');
    date.setUTCFullYear(year, month - 1, day);
    return { seconds: date.getTime() / 1000 + hour * 3600 + minute * 60 + second - offset, nanos };
  }

  /** The optional fraction of a second. */
  private fraction(): number {
    const match = /^[.,]([0-9]+)/.exec(this.rest);
    if (match === null) return 0;
    this.rest = this.rest.slice(match[0].length);
    return Number((match[1] ?? '').slice(0, 9).padEnd(9, '0'));
  }

  private microseconds(): number {
    const match = /^[.,][0-9]{6}/.exec(this.rest);
    if (match === null) return this.cannot('.000000');
    this.rest = this.rest.slice(7);
    return Number(match[0].slice(1)) * 1000;
  }

  private zone(): number {
    if (this.rest.startsWith('Z')) {
      this.rest = this.rest.slice(1);
      return 0;
    }
    const match = /^([-+])([0-9]{2}):([0-9]{2})/.exec(this.rest);
    if (match === null) return this.cannot('Z07:00');
    const hours = Number(match[2]);
    const minutes = Number(match[3]);
    this.check(hours <= 24, 'time zone offset hour');
    this.check(minutes <= 60, 'time zone offset minute');
    this.rest = this.rest.slice(match[0].length);
    return (hours * 3600 + minutes * 60) * (match[1] === '-' ? -1 : 1);
  }
}

/** Throws TimeError. */
export const parseTime = (text: string): Instant => new TimeParser(text, RFC3339).parse();

/** A time with exactly six digits of a second; throws TimeError. */
export const parseMicroTime = (text: string): Instant => new TimeParser(text, RFC3339_MICRO).parse();

function formatSeconds(seconds: number): string {
  const iso = new Date(seconds * 1000).toISOString();
  // Years beyond four digits have a sign and six digits in JavaScript.
  const match = /^([-+]?)0*(\d{4,})(-.*)\.\d{3}Z$/.exec(iso);
  return `${match?.[1] === '-' ? '-' : ''}${match?.[2] ?? ''}${match?.[3] ?? ''}`;
}

const CANONICAL = /^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}Z$/;

/** metav1.Time as it is returned: in UTC, without the fraction; null for the zero time. Throws TimeError. */
export function canonicalTime(text: string): string | null {
  const { seconds, nanos } = parseTime(text);
  if (seconds === ZERO_SECONDS && nanos === 0) return null;
  return CANONICAL.test(text) ? text : `${formatSeconds(seconds)}Z`;
}

/** metav1.MicroTime as it is returned; null for the zero time. Throws TimeError. */
export function canonicalMicroTime(text: string): string | null {
  const { seconds, nanos } = parseMicroTime(text);
  if (seconds === ZERO_SECONDS && nanos === 0) return null;
  return `${formatSeconds(seconds)}.${String(Math.trunc(nanos / 1000)).padStart(6, '0')}Z`;
}

/** Milliseconds since the epoch of a time that was decoded before; undefined for none. */
export function timeMillis(text: string | null | undefined): number | undefined {
  if (text === null || text === undefined || text === '') return undefined;
  const millis = Date.parse(text);
  return Number.isNaN(millis) ? undefined : millis;
}
