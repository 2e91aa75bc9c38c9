import { fn, type Implementation, method, overload } from '../../declarations.js';
import type { Library } from '../library.js';
import { BOOL, INT, STRING, objectType } from '../../types.js';
import { MAX_UINT, integer, shortInteger } from '../../values/integer.js';
import { quoted } from '../../values/text.js';
import { CelError, NO_SUCH_OVERLOAD, Opaque, type Value } from '../../values/value.js';
import { chargeWork } from '../../work.js';
import { typeConstant } from '../standard.js';

const SEMVER = objectType('kubernetes.Semver');

/** A pre-release identifier: numeric or text. */
type PreRelease = bigint | string;

class Semver extends Opaque {
  readonly typeName = 'kubernetes.Semver';
  constructor(
    readonly numbers: readonly [bigint, bigint, bigint],
    readonly pre: readonly PreRelease[],
  ) {
    super();
  }

  equals(other: Value): boolean | CelError {
    return other instanceof Semver ? compare(this, other) === 0 : NO_SUCH_OVERLOAD;
  }
}

const sign = <T extends bigint | string | number>(a: T, b: T): number => (a < b ? -1 : a > b ? 1 : 0);

function comparePre(a: PreRelease, b: PreRelease): number {
  if (typeof a === 'bigint') return typeof b === 'bigint' ? sign(a, b) : -1;
  return typeof b === 'bigint' ? 1 : sign(a, b);
}

/** Compares versions. Build metadata is ignored. A version without a pre-release is newer than the same version with one. */
function compare(a: Semver, b: Semver): number {
  for (const i of [0, 1, 2] as const) {
    const order = sign(a.numbers[i], b.numbers[i]);
    if (order !== 0) return order;
  }
  if (a.pre.length === 0 || b.pre.length === 0) return sign(b.pre.length === 0 ? 0 : 1, a.pre.length === 0 ? 0 : 1);
  for (let i = 0; i < Math.min(a.pre.length, b.pre.length); i++) {
    const order = comparePre(a.pre[i] ?? '', b.pre[i] ?? '');
    if (order !== 0) return order;
  }
  return sign(a.pre.length, b.pre.length);
}

class SemverError extends Error {}

function number(text: string, name: string): bigint {
  const lower = name.toLowerCase();
  if (!/^\d*$/.test(text)) throw new SemverError(`Invalid character(s) found in ${lower} number ${quoted(text)}`);
  if (text.length > 1 && text.startsWith('0'))
    throw new SemverError(`${name} number must not contain leading zeroes ${quoted(text)}`);
  if (text === '') throw new SemverError('strconv.ParseUint: parsing "": invalid syntax');
  return parseUint(text);
}

function parseUint(digits: string): bigint {
  const value = shortInteger(digits) ?? MAX_UINT + 1n;
  if (value > MAX_UINT) throw new SemverError(`strconv.ParseUint: parsing ${quoted(digits)}: value out of range`);
  return value;
}

function preRelease(text: string): PreRelease {
  if (text === '') throw new SemverError('Prerelease is empty');
  if (/^\d+$/.test(text)) {
    if (text.length > 1 && text.startsWith('0')) {
      throw new SemverError(`Numeric PreRelease version must not contain leading zeroes ${quoted(text)}`);
    }
    return parseUint(text);
  }
  if (!/^[0-9A-Za-z-]+$/.test(text)) throw new SemverError(`Invalid character(s) found in prerelease ${quoted(text)}`);
  return text;
}

/** Splits a string at the first occurrence of a separator. */
function cut(text: string, mark: string): [string, string | undefined] {
  const at = text.indexOf(mark);
  return at < 0 ? [text, undefined] : [text.slice(0, at), text.slice(at + 1)];
}

/** Splits a version into at most three parts. Any further dots stay in the last one. */
function threeParts(text: string): string[] {
  const parts = text.split('.');
  return parts.length <= 3 ? parts : [...parts.slice(0, 2), parts.slice(2).join('.')];
}

function strict(text: string): Semver {
  if (text === '') throw new SemverError('Version string empty');
  const [first, second, last] = threeParts(text);
  if (first === undefined || second === undefined || last === undefined)
    throw new SemverError('No Major.Minor.Patch elements found');
  const major = number(first, 'Major');
  const minor = number(second, 'Minor');
  const [version, build] = cut(last, '+');
  const [patch, pre] = cut(version, '-');
  const numbers = [major, minor, number(patch, 'Patch')] as const;
  const parsed = new Semver(numbers, (pre?.split('.') ?? []).map(preRelease));
  for (const part of build?.split('.') ?? []) {
    if (part === '') throw new SemverError('Build meta data is empty');
    if (!/^[0-9A-Za-z-]+$/.test(part))
      throw new SemverError(`Invalid character(s) found in build meta data ${quoted(part)}`);
  }
  return parsed;
}

/** Removes a leading v and leading zeros, and adds missing parts. */
function normalized(text: string): Semver {
  const parts = threeParts(text.replace(/^v/, '')).map((part) => {
    if (part.length <= 1) return part;
    const bare = part.replace(/^0+/, '');
    return /^\d/.test(bare) ? bare : `0${bare}`;
  });
  if (parts.length < 3 && /[+-]/.test(parts.at(-1) ?? '')) {
    throw new SemverError('short version cannot contain PreRelease/Build meta data');
  }
  while (parts.length < 3) parts.push('0');
  return strict(parts.join('.'));
}

/** `semver(text)` and `semver(text, normalize)` */
function parse(text: Value, normalize: Value = false): Value {
  if (typeof text !== 'string' || typeof normalize !== 'boolean') return NO_SUCH_OVERLOAD;
  chargeWork(text.length);
  try {
    return normalize ? normalized(text) : strict(text);
  } catch (error) {
    if (error instanceof SemverError) return new CelError(error.message);
    throw error;
  }
}

function isValid(text: Value, normalize?: Value): Value {
  const parsed = parse(text, normalize);
  return parsed === NO_SUCH_OVERLOAD ? parsed : parsed instanceof Semver;
}

const part =
  (index: 0 | 1 | 2): Implementation =>
  (value) =>
    value instanceof Semver ? (integer(BigInt.asIntN(64, value.numbers[index])) ?? 0) : NO_SUCH_OVERLOAD;
const onTwo =
  (run: (a: Semver, b: Semver) => Value): Implementation =>
  (a, b) =>
    a instanceof Semver && b instanceof Semver ? run(a, b) : NO_SUCH_OVERLOAD;

const isGreater = (a: Semver, b: Semver): boolean => compare(a, b) > 0;
const isLess = (a: Semver, b: Semver): boolean => compare(a, b) < 0;

export const SEMVER_LIBRARY: Library = {
  types: [typeConstant(SEMVER)],
  functions: [
    fn(
      'semver',
      overload('string_to_semver', [STRING], SEMVER, parse),
      overload('string_bool_to_semver', [STRING, BOOL], SEMVER, parse),
    ),
    fn(
      'isSemver',
      overload('is_semver_string', [STRING], BOOL, isValid),
      overload('is_semver_string_bool', [STRING, BOOL], BOOL, isValid),
    ),
    fn('isGreaterThan', method('semver_is_greater_than', [SEMVER, SEMVER], BOOL, onTwo(isGreater))),
    fn('isLessThan', method('semver_is_less_than', [SEMVER, SEMVER], BOOL, onTwo(isLess))),
    fn('compareTo', method('semver_compare_to', [SEMVER, SEMVER], INT, onTwo(compare))),
    fn('major', method('semver_major', [SEMVER], INT, part(0))),
    fn('minor', method('semver_minor', [SEMVER], INT, part(1))),
    fn('patch', method('semver_patch', [SEMVER], INT, part(2))),
  ],
};
