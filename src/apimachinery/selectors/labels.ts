import { isInt64 } from '../../go/int64.js';
import { aggregate, type FieldError, FieldPath, invalid } from '../meta/field-error.js';
import { compareUtf8 } from '../meta/meta.js';
import { isLabelValue, isQualifiedName } from '../validation/names.js';

export type LabelOperator = '=' | '==' | '!=' | 'in' | 'notin' | 'exists' | '!' | 'gt' | 'lt';
export type LabelSet = Readonly<Record<string, string>>;

/** An invalid selector. Clients see the message. */
export class SelectorError extends Error {
  override readonly name = 'SelectorError';
}

/** The maximum length of the text of a selector, in characters. kube-apiserver has no limit but that of a request's head. */
const MAX_SELECTOR = 64 * 1024;

/** Throws SelectorError for a text that is too long to be parsed. */
export function checkSelectorLength(text: string): void {
  if (text.length > MAX_SELECTOR)
    throw new SelectorError(`the selector is too long: it may have at most ${MAX_SELECTOR} characters`);
}

export interface LabelRequirement {
  readonly key: string;
  readonly operator: LabelOperator;
  /** Sorted, without duplicates. */
  readonly values: readonly string[];
}

/** Parses an integer like Go's ParseInt with base 10 and 64 bits; undefined if that fails. */
export function parseInt64(text: string): bigint | undefined {
  if (text.length > 64 || !/^[+-]?[0-9]+$/.test(text)) return undefined;
  const value = BigInt(text.startsWith('+') ? text.slice(1) : text);
  return isInt64(value) ? value : undefined;
}

function matchesRequirement(requirement: LabelRequirement, labels: LabelSet): boolean {
  const value = Object.hasOwn(labels, requirement.key) ? labels[requirement.key] : undefined;
  switch (requirement.operator) {
    case '=':
    case '==':
    case 'in':
      return value !== undefined && requirement.values.includes(value);
    case '!=':
    case 'notin':
      return value === undefined || !requirement.values.includes(value);
    case 'exists':
      return value !== undefined;
    case '!':
      return value === undefined;
    case 'gt':
    case 'lt': {
      const left = value === undefined ? undefined : parseInt64(value);
      const right = parseInt64(requirement.values[0] ?? '');
      if (left === undefined || right === undefined) return false;
      return requirement.operator === 'gt' ? left > right : left < right;
    }
  }
}

function formatRequirement({ key, operator, values }: LabelRequirement): string {
  switch (operator) {
    case 'exists':
      return key;
    case '!':
      return `!${key}`;
    case 'in':
    case 'notin':
      return `${key} ${operator} (${values.join(',')})`;
    case 'gt':
    case 'lt':
      return `${key}${operator === 'gt' ? '>' : '<'}${values.join(',')}`;
    default:
      return `${key}${operator}${values.join(',')}`;
  }
}

function exactValue({ operator, values }: LabelRequirement): string | undefined {
  const exact = (operator === '=' || operator === '==' || operator === 'in') && values.length === 1;
  return exact ? values[0] : undefined;
}

const NO_LABELS: LabelSet = {};

/** A parsed label selector. Immutable. */
export class LabelSelector {
  /** If `all` is undefined, nothing is selected. */
  private constructor(private readonly all: readonly LabelRequirement[] | undefined) {}

  static readonly everything = new LabelSelector([]);
  static readonly nothing = new LabelSelector(undefined);

  static of(requirements: readonly LabelRequirement[]): LabelSelector {
    return new LabelSelector([...requirements].sort((a, b) => compareUtf8(a.key, b.key)));
  }

  get requirements(): readonly LabelRequirement[] {
    return this.all ?? [];
  }

  /** True if it selects everything. */
  get empty(): boolean {
    return this.all?.length === 0;
  }

  get selectsNothing(): boolean {
    return this.all === undefined;
  }

  matches(labels: LabelSet | undefined): boolean {
    if (this.all === undefined) return false;
    for (const requirement of this.all) if (!matchesRequirement(requirement, labels ?? NO_LABELS)) return false;
    return true;
  }

  /** Returns the value that the selector requires for the key, if it is exactly one. */
  requiresExactMatch(key: string): string | undefined {
    const first = this.requirements.find((r) => r.key === key);
    return first === undefined ? undefined : exactValue(first);
  }

  /** Returns the first label for which the selector requires exactly one value. */
  exactMatch(): { readonly key: string; readonly value: string } | undefined {
    // Requirements are sorted by key, and of several for one key the first counts.
    let previous: string | undefined;
    for (const requirement of this.requirements) {
      const value = requirement.key === previous ? undefined : exactValue(requirement);
      if (value !== undefined) return { key: requirement.key, value };
      previous = requirement.key;
    }
    return undefined;
  }

  /** Returns the canonical text. */
  toString(): string {
    return this.requirements.map(formatRequirement).join(',');
  }
}

/** Creates a requirement. Its values may be in any order, and repeated. Throws SelectorError. */
export function makeRequirement(key: string, operator: LabelOperator, given: readonly string[]): LabelRequirement {
  const values = [...new Set(given)].sort(compareUtf8);
  const errors: FieldError[] = [];
  const keyErrors = isQualifiedName(key);
  if (keyErrors.length > 0) errors.push(invalid('key', key, keyErrors.join('; ')));
  const valuePath = FieldPath.of('values');
  if ((operator === 'in' || operator === 'notin') && values.length === 0) {
    errors.push(invalid(valuePath, [], "for 'in', 'notin' operators, values set can't be empty"));
  } else if ((operator === 'exists' || operator === '!') && values.length !== 0) {
    errors.push(invalid(valuePath, values, 'values set must be empty for exists and does not exist'));
  } else if (operator === 'gt' || operator === 'lt') {
    values.forEach((value, i) => {
      if (parseInt64(value) !== undefined) return;
      errors.push(invalid(valuePath.index(i), value, "for 'Gt', 'Lt' operators, the value must be an integer"));
    });
  }
  values.forEach((value, i) => {
    const texts = isLabelValue(value);
    if (texts.length > 0) errors.push(invalid(valuePath.index(i).key(key), value, texts.join('; ')));
  });
  if (errors.length > 0) throw new SelectorError(aggregate(errors));
  return { key, operator, values };
}
