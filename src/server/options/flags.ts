import { isIP } from 'node:net';
import { messageOf } from '../../util/error-message.js';
import { formatGoDuration, parseGoDuration } from '../../go/duration.js';

/** An invalid value of a flag. The message names the flag. */
export class FlagError extends Error {
  override readonly name = 'FlagError';
}

/** Converts the text of a flag to a value. */
export interface FlagKind<T> {
  /** The placeholder that `--help` shows; empty for booleans. */
  readonly placeholder: string;
  /** True for lists, whose flags may be given several times. */
  readonly repeatable: boolean;
  /** Parses a value. Throws an Error with the reason. */
  parse(text: string): T;
  /** Replaces `parse` for flags whose values are taken one by one, commas included. */
  parseAll?(texts: readonly string[]): T;
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

/** Creates a flag. `group` is the heading under which `--help` shows it. */
export const flag = <T>(group: string, name: string, kind: FlagKind<T>, value: T, help: string): Flag<T> => ({
  group,
  name,
  kind,
  default: value,
  help,
});

export const text: FlagKind<string> = {
  placeholder: 'string',
  repeatable: false,
  parse: (value) => value,
  show: (value) => (value === '' ? undefined : JSON.stringify(value)),
};

/** Marks a flag as deprecated: it works, `--help` says so, and its use logs a warning. */
export const deprecated = <T>(of: Flag<T>, instead: string): Flag<T> => ({
  ...of,
  help: `${of.help} (DEPRECATED: ${instead})`,
  deprecated: instead,
});

/** One of the given words. */
export const oneOf = (...words: readonly string[]): FlagKind<string> => ({
  ...text,
  parse: (value) => {
    if (!words.includes(value)) throw new Error(`must be one of ${words.join(', ')}`);
    return value;
  },
});

export const bool: FlagKind<boolean> = {
  placeholder: '',
  repeatable: false,
  parse: (value) => {
    if (/^(1|t|T|TRUE|true|True)$/.test(value)) return true;
    if (/^(0|f|F|FALSE|false|False)$/.test(value)) return false;
    throw new Error('must be true or false');
  },
  show: (value) => (value ? 'true' : undefined),
};

/** A whole number within bounds. */
export const int = (min: number, max = Number.MAX_SAFE_INTEGER): FlagKind<number> => ({
  placeholder: 'int',
  repeatable: false,
  parse: (value) => {
    const number = /^[+-]?\d+$/.test(value) ? Number(value) : NaN;
    if (!Number.isSafeInteger(number)) throw new Error('must be a whole number');
    if (number < min || number > max) throw new Error(`must be between ${min} and ${max}`);
    return number;
  },
  show: (value) => (value === 0 ? undefined : String(value)),
});

/** A fraction within bounds. */
export const float = (min: number, max: number): FlagKind<number> => ({
  placeholder: 'float',
  repeatable: false,
  parse: (value) => {
    const number = value.trim() === '' ? NaN : Number(value);
    if (!(number >= min && number <= max)) throw new Error(`must be a number between ${min} and ${max}`);
    return number;
  },
  show: (value) => (value === 0 ? undefined : String(value)),
});

/** A duration in Go's notation; its value is in milliseconds. */
export const duration: FlagKind<number> = {
  placeholder: 'duration',
  repeatable: false,
  parse: (value) => {
    const millis = parseGoDuration(value);
    if (millis < 0) throw new Error('must not be negative');
    return millis;
  },
  show: (value) => (value === 0 ? undefined : formatGoDuration(value)),
};

/** An IP address, or an empty string. */
export const ip: FlagKind<string> = {
  ...text,
  placeholder: 'ip',
  parse: (value) => {
    const address = value.trim();
    if (address !== '' && isIP(address) === 0) throw new Error(`failed to parse IP: ${JSON.stringify(value)}`);
    return address;
  },
  show: (value) => (value === '' ? undefined : value),
};

/** A list, separated by commas or given as several flags. */
export const list: FlagKind<readonly string[]> = {
  placeholder: 'strings',
  repeatable: true,
  parse: (value) => (value === '' ? [] : value.split(',')),
  show: (value) => (value.length === 0 ? undefined : `[${value.join(',')}]`),
};

/** A list given as several flags; commas are part of the values. */
export const array: FlagKind<readonly string[]> = {
  placeholder: 'stringArray',
  repeatable: true,
  parse: (value) => [value],
  parseAll: (values) => [...values],
  show: list.show.bind(list),
};

/** Returns a flag's value as pflag prints it. */
export function flagText({ kind }: Flag<unknown>, value: unknown): string {
  if (typeof value === 'number' && kind.placeholder === duration.placeholder) return formatGoDuration(value);
  return Array.isArray(value) ? `[${value.join(',')}]` : String(value);
}

/** Parses the texts that the command line has for a flag. Lists are joined. */
export function parseFlag<T>(flag: Flag<T>, texts: readonly string[]): T {
  try {
    if (flag.kind.parseAll !== undefined) return flag.kind.parseAll(texts);
    const joined = flag.kind.repeatable ? texts.filter((value) => value !== '').join(',') : (texts.at(-1) ?? '');
    return flag.kind.parse(joined);
  } catch (error) {
    const why = messageOf(error);
    throw new FlagError(`invalid argument ${JSON.stringify(texts.join(','))} for --${flag.name}: ${why}`);
  }
}
