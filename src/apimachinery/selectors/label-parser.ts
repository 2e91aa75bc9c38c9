import { FieldPath, invalid } from '../meta/field-error.js';
import {
  checkSelectorLength,
  type LabelOperator,
  type LabelRequirement,
  LabelSelector,
  makeRequirement,
  SelectorError,
} from './labels.js';
import { isQualifiedName } from '../validation/names.js';

/** The kind of a token. `end` follows the last token. */
type Token = 'end' | 'identifier' | 'in' | 'notin' | ')' | ',' | '!' | '==' | '=' | '>' | '<' | '!=' | '(';

/** A token with its text. */
interface Item {
  readonly token: Token;
  readonly literal: string;
}

const SPECIAL = '=!(),><';
const SPACES = ' \t\r\n';
const ENDS_IDENTIFIER = `${SPECIAL}${SPACES}\0`;

/** Returns the longest symbol at the position. Every special character alone is a symbol. */
function scanSymbol(text: string, start: number): Item {
  const two = text.slice(start, start + 2);
  const literal = two === '==' || two === '!=' ? two : text.charAt(start);
  return { token: literal as Token, literal };
}

/**
 * Returns the tokens of a label selector. As in Go's lexer, a zero byte ends the text where a token would begin; elsewhere it
 * ends only the token before it.
 */
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

  /** Returns the next item. `in` and `notin` are identifiers, except where an operator is expected. */
  private peek(): Item {
    const item = this.items[this.at] ?? END;
    return item.token === 'in' || item.token === 'notin' ? { ...item, token: 'identifier' } : item;
  }

  private next(): Item {
    const item = this.peek();
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
    const { token, literal } = this.items[this.at++] ?? END;
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

/** Parses a `labelSelector` parameter. Throws SelectorError. */
export function parseLabelSelector(text: string): LabelSelector {
  if (text === '') return LabelSelector.everything;
  checkSelectorLength(text);
  return LabelSelector.of(new SelectorParser(text).parse());
}
