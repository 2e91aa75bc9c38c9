import { aggregate, type FieldError, FieldPath, forbidden, invalid, required } from './field-error.js';
import type { JsonObject, JsonValue } from './json.js';
import { compareUtf8, quote } from './meta.js';
import { isLabelValue, isQualifiedName } from './validation/names.js';
import { own } from '../util/own.js';

export type LabelOperator = '=' | '==' | '!=' | 'in' | 'notin' | 'exists' | '!' | 'gt' | 'lt';
export type LabelSet = Readonly<Record<string, string>>;

/** A selector that cannot be read; the message is the one that clients see. */
export class SelectorError extends Error {
  override readonly name = 'SelectorError';
}

export interface LabelRequirement {
  readonly key: string;
  readonly operator: LabelOperator;
  /** Sorted, each once. */
  readonly values: readonly string[];
}

const MAX_INT64 = 9223372036854775807n;

/** Go's ParseInt in base 10 with 64 bits; undefined where it fails. */
export function parseInt64(text: string): bigint | undefined {
  if (text.length > 64 || !/^[+-]?[0-9]+$/.test(text)) return undefined;
  const value = BigInt(text.startsWith('+') ? text.slice(1) : text);
  return value > MAX_INT64 || value < -MAX_INT64 - 1n ? undefined : value;
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

const NO_LABELS: LabelSet = {};

/** A label selector, ready to be matched. Immutable. */
export class LabelSelector {
  /** `undefined` requirements: nothing is selected. */
  private constructor(private readonly all: readonly LabelRequirement[] | undefined) {}

  static readonly everything = new LabelSelector([]);
  static readonly nothing = new LabelSelector(undefined);

  static of(requirements: readonly LabelRequirement[]): LabelSelector {
    return new LabelSelector([...requirements].sort((a, b) => compareUtf8(a.key, b.key)));
  }

  get requirements(): readonly LabelRequirement[] {
    return this.all ?? [];
  }

  /** Whether it selects everything. */
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

  /** The value that the selector asks for under the key, where it is exactly one. */
  requiresExactMatch(key: string): string | undefined {
    const first = this.requirements.find((r) => r.key === key);
    const exact = first !== undefined && ['=', '==', 'in'].includes(first.operator) && first.values.length === 1;
    return exact ? first.values[0] : undefined;
  }

  /** The first label that the selector asks for with exactly one value. */
  exactMatch(): { readonly key: string; readonly value: string } | undefined {
    for (const { key } of this.requirements) {
      const value = this.requiresExactMatch(key);
      if (value !== undefined) return { key, value };
    }
    return undefined;
  }

  /** The canonical text. */
  toString(): string {
    return this.requirements.map(formatRequirement).join(',');
  }
}

function makeRequirement(key: string, operator: LabelOperator, given: readonly string[]): LabelRequirement {
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

type Token = 'end' | 'identifier' | 'in' | 'notin' | ')' | ',' | '!' | '==' | '=' | '>' | '<' | '!=' | '(';

interface Item {
  readonly token: Token;
  readonly literal: string;
}

const SPECIAL = '=!(),><';
const SPACES = ' \t\r\n';
const ENDS_IDENTIFIER = `${SPECIAL}${SPACES}\0`;

/** The longest symbol at the place; every special character alone is one. */
function scanSymbol(text: string, start: number): Item {
  const two = text.slice(start, start + 2);
  const literal = two === '==' || two === '!=' ? two : text.charAt(start);
  return { token: literal as Token, literal };
}

/** A zero byte ends the text where a token would begin, and elsewhere only the token before it, as in Go's lexer. */
function scanAll(text: string): Item[] {
  const items: Item[] = [];
  let at = 0;
  while (at < text.length) {
    const c = text.charAt(at);
    if (SPACES.includes(c)) {
      at++;
      continue;
    }
    if (c === '\0') return items;
    if (SPECIAL.includes(c)) {
      const item = scanSymbol(text, at);
      items.push(item);
      at += item.literal.length;
    } else {
      const start = at;
      while (at < text.length && !ENDS_IDENTIFIER.includes(text.charAt(at))) at++;
      const literal = text.slice(start, at);
      items.push({ token: literal === 'in' || literal === 'notin' ? literal : 'identifier', literal });
    }
    if (text.charAt(at) === '\0') at++;
  }
  return items;
}

const END: Item = { token: 'end', literal: '' };
const OPERATORS = 'in, notin, =, ==, !=, gt, lt';

class SelectorParser {
  private at = 0;
  private readonly items: readonly Item[];
  constructor(selector: string) {
    this.items = scanAll(selector);
  }

  /** The next item; `in` and `notin` are identifiers unless an operator is expected. */
  private peek(operator = false): Item {
    const item = this.items[this.at] ?? END;
    if (!operator && (item.token === 'in' || item.token === 'notin'))
      return { token: 'identifier', literal: item.literal };
    return item;
  }

  private next(operator = false): Item {
    const item = this.peek(operator);
    this.at++;
    return item;
  }

  parse(): LabelRequirement[] {
    const requirements: LabelRequirement[] = [];
    for (;;) {
      const { token, literal } = this.peek();
      if (token === 'end') return requirements;
      if (token !== 'identifier' && token !== '!') {
        throw new SelectorError(`found '${literal}', expected: !, identifier, or 'end of string'`);
      }
      requirements.push(this.requirementOrThrow());
      const after = this.next();
      if (after.token === 'end') return requirements;
      if (after.token !== ',') throw new SelectorError(`found '${after.literal}', expected: ',' or 'end of string'`);
      const following = this.peek();
      if (following.token !== 'identifier' && following.token !== '!') {
        throw new SelectorError(`found '${following.literal}', expected: identifier after ','`);
      }
    }
  }

  private requirementOrThrow(): LabelRequirement {
    try {
      return this.requirement();
    } catch (error) {
      if (error instanceof SelectorError) throw new SelectorError(`unable to parse requirement: ${error.message}`);
      throw error;
    }
  }

  private requirement(): LabelRequirement {
    let first = this.next();
    const negated = first.token === '!';
    if (negated) first = this.next();
    if (first.token !== 'identifier') throw new SelectorError(`found '${first.literal}', expected: identifier`);
    const key = first.literal;
    const texts = isQualifiedName(key);
    if (texts.length > 0) throw new SelectorError(invalid(FieldPath.empty, key, texts.join('; ')).toString());
    const { token } = this.peek();
    if (negated) return makeRequirement(key, '!', []);
    if (token === 'end' || token === ',') return makeRequirement(key, 'exists', []);
    const operator = this.operator();
    return makeRequirement(
      key,
      operator,
      operator === 'in' || operator === 'notin' ? this.values() : this.exactValue(),
    );
  }

  private operator(): LabelOperator {
    const { token, literal } = this.next(true);
    switch (token) {
      case 'in':
      case 'notin':
      case '=':
      case '==':
      case '!=':
        return token;
      case '>':
        return 'gt';
      case '<':
        return 'lt';
      default:
        throw new SelectorError(`found '${literal}', expected: ${OPERATORS}`);
    }
  }

  private values(): string[] {
    const open = this.next();
    if (open.token !== '(') throw new SelectorError(`found '${open.literal}' expected: '('`);
    const { token, literal } = this.peek();
    if (token === ')') {
      this.next();
      return [''];
    }
    if (token !== 'identifier' && token !== ',') {
      throw new SelectorError(`found '${literal}', expected: ',', ')' or identifier`);
    }
    const values = this.identifiers();
    if (this.next().token !== ')') throw new SelectorError(`found '${literal}', expected: ')'`);
    return values;
  }

  private identifiers(): string[] {
    const values: string[] = [];
    for (;;) {
      const { token, literal } = this.next();
      if (token === 'identifier') {
        values.push(literal);
        const following = this.peek();
        if (following.token === ')') return values;
        if (following.token !== ',') throw new SelectorError(`found '${following.literal}', expected: ',' or ')'`);
      } else if (token === ',') {
        if (values.length === 0) values.push('');
        const following = this.peek().token;
        if (following === ')' || following === ',') values.push('');
        if (following === ')') return values;
      } else {
        throw new SelectorError(`found '${literal}', expected: ',', or identifier`);
      }
    }
  }

  private exactValue(): string[] {
    const { token } = this.peek();
    if (token === 'end' || token === ',') return [''];
    const { token: found, literal } = this.next();
    if (found !== 'identifier') throw new SelectorError(`found '${literal}', expected: identifier`);
    return [literal];
  }
}

/** Reads a `labelSelector` parameter; throws SelectorError. */
export function parseLabelSelector(text: string): LabelSelector {
  return text === '' ? LabelSelector.everything : LabelSelector.of(new SelectorParser(text).parse());
}

const EXPRESSION_OPERATORS: Readonly<Record<string, LabelOperator>> = {
  In: 'in',
  NotIn: 'notin',
  Exists: 'exists',
  DoesNotExist: '!',
};

/** A LabelSelector object (meta/v1), decoded. None selects nothing, the empty one everything. Throws SelectorError. */
export function labelSelectorFromObject(selector: JsonObject | undefined): LabelSelector {
  if (selector === undefined) return LabelSelector.nothing;
  const requirements: LabelRequirement[] = [];
  const { matchLabels, matchExpressions } = selector;
  if (typeof matchLabels === 'object' && matchLabels !== null && !Array.isArray(matchLabels)) {
    for (const key in matchLabels) requirements.push(makeRequirement(key, '=', [text(matchLabels[key])]));
  }
  for (const expression of Array.isArray(matchExpressions) ? matchExpressions : []) {
    if (typeof expression !== 'object' || expression === null || Array.isArray(expression)) continue;
    const name = text(expression['operator']);
    const operator = own(EXPRESSION_OPERATORS, name);
    if (operator === undefined) throw new SelectorError(`${quote(name)} is not a valid label selector operator`);
    const { values } = expression;
    requirements.push(
      makeRequirement(text(expression['key']), operator, Array.isArray(values) ? values.map(text) : []),
    );
  }
  return LabelSelector.of(requirements);
}

const text = (value: JsonValue | undefined): string => (typeof value === 'string' ? value : '');

/** Objections to a LabelSelector object within another object. */
export function validateLabelSelector(selector: JsonObject | undefined, path: FieldPath): FieldError[] {
  if (selector === undefined) return [];
  const errors: FieldError[] = [];
  const { matchLabels, matchExpressions } = selector;
  if (typeof matchLabels === 'object' && matchLabels !== null && !Array.isArray(matchLabels)) {
    const at = path.child('matchLabels');
    for (const key of Object.keys(matchLabels).sort(compareUtf8)) {
      errors.push(...isQualifiedName(key).map((message) => invalid(at, key, message)));
      const value = text(matchLabels[key]);
      errors.push(...isLabelValue(value).map((message) => invalid(at, value, message)));
    }
  }
  if (!Array.isArray(matchExpressions)) return errors;
  matchExpressions.forEach((expression, i) => {
    if (typeof expression === 'object' && expression !== null && !Array.isArray(expression)) {
      errors.push(...validateExpression(expression, path.child('matchExpressions').index(i)));
    }
  });
  return errors;
}

function validateExpression(expression: JsonObject, path: FieldPath): FieldError[] {
  const errors: FieldError[] = [];
  const operator = text(expression['operator']);
  const values = Array.isArray(expression['values']) ? expression['values'].map(text) : [];
  const valuesPath = path.child('values');
  if (operator === 'In' || operator === 'NotIn') {
    if (values.length === 0) {
      errors.push(required(valuesPath, "must be specified when `operator` is 'In' or 'NotIn'"));
    }
  } else if (operator === 'Exists' || operator === 'DoesNotExist') {
    if (values.length > 0) {
      errors.push(forbidden(valuesPath, "may not be specified when `operator` is 'Exists' or 'DoesNotExist'"));
    }
  } else errors.push(invalid(path.child('operator'), operator, 'not a valid selector operator'));
  const key = text(expression['key']);
  errors.push(...isQualifiedName(key).map((message) => invalid(path.child('key'), key, message)));
  values.forEach((value, i) => {
    errors.push(...isLabelValue(value).map((message) => invalid(valuesPath.index(i), value, message)));
  });
  return errors;
}
