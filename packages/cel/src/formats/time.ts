/** The error for a string that is not a time, with Go's message. */
export class TimeError extends Error {
  override readonly name = 'TimeError';
}

const RFC3339 = '2006-01-02T15:04:05Z07:00';
const RFC3339_MICRO = '2006-01-02T15:04:05.000000Z07:00';
const LOCAL = '2006-01-02T15:04:05';
const DATE = '2006-01-02';

/** A point in time: seconds since the epoch, plus nanoseconds. */
export interface Instant {
  readonly seconds: number;
  readonly nanos: number;
}

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
  constructor(
    private readonly text: string,
    private readonly layout: string,
  ) {
    this.rest = text;
  }

  private fail(element: string): never {
    throw new TimeError(
      `parsing time ${quoteTime(this.text)} as ${quoteTime(this.layout)}: cannot parse ${quoteTime(this.rest)} as ${quoteTime(element)}`,
    );
  }

  /** Consumes `min` to `max` digits. */
  private digits(min: number, max: number, element: string): number {
    let count = 0;
    while (count < max && /[0-9]/.test(this.rest.charAt(count))) count++;
    if (count < min) this.fail(element);
    const value = Number(this.rest.slice(0, count));
    this.rest = this.rest.slice(count);
    return value;
  }

  private literal(text: string): void {
    if (!this.rest.startsWith(text)) this.fail(text);
    this.rest = this.rest.slice(text.length);
  }

  /** Throws if a value is out of range. As in Go, the first such value is reported. */
  private check(ok: boolean, what: string): void {
    if (!ok) throw new TimeError(`parsing time ${quoteTime(this.text)}: ${what} out of range`);
  }

  parse(): Instant {
    const year = this.digits(4, 4, '2006');
    this.literal('-');
    const month = this.digits(2, 2, '01');
    this.check(month >= 1 && month <= 12, 'month');
    this.literal('-');
    const day = this.digits(2, 2, '02');
    const time = this.layout === DATE ? { seconds: 0, nanos: 0 } : this.timeOfDay();
    if (this.rest !== '') {
      throw new TimeError(`parsing time ${quoteTime(this.text)}: extra text: ${quoteTime(this.rest)}`);
    }
    const date = new Date(0);
    date.setUTCFullYear(year, month, 0);
    this.check(day >= 1 && day <= date.getUTCDate(), 'day');
    date.setUTCFullYear(year, month - 1, day);
    return { seconds: date.getTime() / 1000 + time.seconds, nanos: time.nanos };
  }

  private timeOfDay(): Instant {
    this.literal('T');
    const hour = this.digits(1, 2, '15');
    this.check(hour < 24, 'hour');
    this.literal(':');
    const minute = this.digits(2, 2, '04');
    this.check(minute < 60, 'minute');
    this.literal(':');
    const second = this.digits(2, 2, '05');
    this.check(second < 60, 'second');
    const nanos = this.layout === RFC3339_MICRO ? this.microseconds() : this.fraction();
    const offset = this.layout === LOCAL ? 0 : this.zone();
    return { seconds: hour * 3600 + minute * 60 + second - offset, nanos };
  }

  /** Consumes the optional fraction of a second and returns it in nanoseconds. */
  private fraction(): number {
    const match = /^[.,]([0-9]+)/.exec(this.rest);
    if (match === null) return 0;
    this.rest = this.rest.slice(match[0].length);
    return Number((match[1] ?? '').slice(0, 9).padEnd(9, '0'));
  }

  private microseconds(): number {
    const match = /^[.,][0-9]{6}/.exec(this.rest);
    if (match === null) return this.fail('.000000');
    this.rest = this.rest.slice(7);
    return Number(match[0].slice(1)) * 1000;
  }

  private zone(): number {
    if (this.rest.startsWith('Z')) {
      this.rest = this.rest.slice(1);
      return 0;
    }
    const match = /^([-+])([0-9]{2}):([0-9]{2})/.exec(this.rest);
    if (match === null) return this.fail('Z07:00');
    const hours = Number(match[2]);
    const minutes = Number(match[3]);
    this.check(hours <= 24, 'time zone offset hour');
    this.check(minutes <= 60, 'time zone offset minute');
    this.rest = this.rest.slice(match[0].length);
    return (hours * 3600 + minutes * 60) * (match[1] === '-' ? -1 : 1);
  }
}

/** Parses an RFC 3339 time, or throws a TimeError. */
export const parseTime = (text: string): Instant => new TimeParser(text, RFC3339).parse();

/** Parses an RFC 3339 time with exactly six fractional digits, or throws a TimeError. */
export const parseMicroTime = (text: string): Instant => new TimeParser(text, RFC3339_MICRO).parse();

/** Returns Go's error message for a string that is not a date, or not a time without a zone. Empty if it is one. */
export function timeParseError(text: string, kind: 'date' | 'local'): string {
  try {
    new TimeParser(text, kind === 'date' ? DATE : LOCAL).parse();
    return '';
  } catch (error) {
    if (error instanceof TimeError) return error.message;
    throw error;
  }
}
