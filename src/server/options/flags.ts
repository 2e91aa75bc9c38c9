import { isIP } from 'node:net';
import { messageOf } from '../../util/error-message.js';
import { formatGoDuration, parseGoDuration } from '../../go/duration.js';

/** An invalid value of a flag. The message names the flag. */
export class FlagError extends Error {
  override readonly name = 'FlagError';
}

/** Converts the texts of a flag to a value. */
export interface FlagKind<T> {
  /** The placeholder that `--help` shows; empty for booleans. */
  readonly placeholder: string;
  /** Parses the texts, one for each time that the flag is given. Throws an Error with the reason. */
  parse(texts: readonly string[]): T;
  /** Returns a default as `--help` shows it; undefined for zero values. */
  show(value: T): string | undefined;
}

export interface Flag<T> {
  readonly name: string;
  readonly kind: FlagKind<T>;
  readonly default: T;
  readonly help: string;
  readonly group: string;
  /** The deprecation notice of a flag that still works and will be removed. */
  readonly deprecated?: string;
}

/** The values of flags, by the names of their options. */
export type FlagValues<F extends Readonly<Record<string, Flag<unknown>>>> = {
  readonly [K in keyof F]: F[K] extends Flag<infer T> ? T : never;
};

/** The names of the flags that the command line sets. */
export interface GivenFlags {
  readonly given: ReadonlySet<string>;
}

/** Returns a function that creates flags. `group` is the heading under which `--help` shows them. */
export const flagsOf =
  (group: string) =>
  <T>(name: string, kind: FlagKind<T>, value: T, help: string): Flag<T> => ({
    group,
    name,
    kind,
    default: value,
    help,
  });

/** Marks a flag as deprecated: it works, `--help` says so, and its use logs a warning. */
export const deprecated = <T>(of: Flag<T>, instead: string): Flag<T> => ({
  ...of,
  help: `${of.help} (DEPRECATED: ${instead})`,
  deprecated: instead,
});

/** A single value: if the flag is given several times, the last one counts. */
const single = <T>(placeholder: string, parse: (text: string) => T, show: FlagKind<T>['show']): FlagKind<T> => ({
  placeholder,
  parse: (texts) => parse(texts.at(-1) ?? ''),
  show,
});

const quoted = (value: string): string | undefined => (value === '' ? undefined : JSON.stringify(value));
const unlessZero = (value: number): string | undefined => (value === 0 ? undefined : String(value));

export const text = single('string', (value) => value, quoted);

/** One of the given words. */
export const oneOf = (...words: readonly string[]): FlagKind<string> =>
  single(
    'string',
    (value) => {
      if (!words.includes(value)) throw new Error(`must be one of ${words.join(', ')}`);
      return value;
    },
    quoted,
  );

export const bool = single(
  '',
  (value) => {
    if (/^(1|t|T|TRUE|true|True)$/.test(value)) return true;
    if (/^(0|f|F|FALSE|false|False)$/.test(value)) return false;
    throw new Error('must be true or false');
  },
  (value: boolean) => (value ? 'true' : undefined),
);

/** A whole number within bounds. */
export const int = (min: number, max = Number.MAX_SAFE_INTEGER): FlagKind<number> =>
  single(
    'int',
    (value) => {
      const number = /^[+-]?\d+$/.test(value) ? Number(value) : NaN;
      if (!Number.isSafeInteger(number)) throw new Error('must be a whole number');
      if (number < min || number > max) throw new Error(`must be between ${min} and ${max}`);
      return number;
    },
    unlessZero,
  );

/** A fraction within bounds. */
export const float = (min: number, max: number): FlagKind<number> =>
  single(
    'float',
    (value) => {
      const number = value.trim() === '' ? NaN : Number(value);
      if (!(number >= min && number <= max)) throw new Error(`must be a number between ${min} and ${max}`);
      return number;
    },
    unlessZero,
  );

/** A duration in Go's notation; its value is in milliseconds. */
export const duration = single(
  'duration',
  (value) => {
    const millis = parseGoDuration(value);
    if (millis < 0) throw new Error('must not be negative');
    return millis;
  },
  (millis) => (millis === 0 ? undefined : formatGoDuration(millis)),
);

/** An IP address, or an empty string. */
export const ip = single(
  'ip',
  (value) => {
    const address = value.trim();
    if (address !== '' && isIP(address) === 0) throw new Error(`failed to parse IP: ${JSON.stringify(value)}`);
    return address;
  },
  (value) => (value === '' ? undefined : value),
);

const showList = (value: readonly string[]): string | undefined =>
  value.length === 0 ? undefined : `[${value.join(',')}]`;

/** A list, separated by commas or given as several flags. */
export const list: FlagKind<readonly string[]> = {
  placeholder: 'strings',
  parse: (texts) => texts.filter((value) => value !== '').flatMap((value) => value.split(',')),
  show: showList,
};

/** A list given as several flags; commas are part of the values. */
export const array: FlagKind<readonly string[]> = {
  placeholder: 'stringArray',
  parse: (texts) => [...texts],
  show: showList,
};

/** Returns a flag's value as pflag prints it. */
export function flagText({ kind }: Flag<unknown>, value: unknown): string {
  if (typeof value === 'number' && kind.placeholder === duration.placeholder) return formatGoDuration(value);
  return Array.isArray(value) ? `[${value.join(',')}]` : String(value);
}

/** Parses the texts that the command line has for a flag. */
export function parseFlag<T>({ name, kind }: Flag<T>, texts: readonly string[]): T {
  try {
    return kind.parse(texts);
  } catch (error) {
    throw new FlagError(`invalid argument ${JSON.stringify(texts.join(','))} for --${name}: ${messageOf(error)}`);
  }
}
