/** The kind of a token. `end` follows the last token. */
type Token = 'end' | 'identifier' | 'in' | 'notin' | ')' | ',' | '!' | '==' | '=' | '>' | '<' | '!=' | '(';

/** A token with its text. */
export interface Item {
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
export function scanAll(text: string): Item[] {
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
