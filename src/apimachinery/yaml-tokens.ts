import { type CST, Lexer, Parser } from 'yaml';
import { newRequestEntityTooLarge } from './errors.js';

/** A list of so many halves of members takes some 600 MB while it is read. */
const MOST = 1_500_000;

/** How much a piece of text makes the tree bigger: nothing for blanks, line breaks and comments. */
function weightOf(lexeme: string): number {
  switch (lexeme.charCodeAt(0)) {
    case 0x20: // blank
    case 0x09: // tab
    case 0x0a: // line feed
    case 0x0d: // carriage return
    case 0x23: // number sign
      return 0;
    case 0x2d: // minus: an item of a list, if alone
      return 2;
    default:
      return 1;
  }
}

/**
 * The tokens of a YAML text, for the composer. The library keeps several hundred bytes for each of the smallest members, so a text that
 * has too many of them is refused while it is read. Throws a Status.
 */
export function* yamlTokens(text: string, lineStarts: (offset: number) => void, most = MOST): Generator<CST.Token> {
  const parser = new Parser(lineStarts);
  lineStarts(0);
  let weight = 0;
  for (const lexeme of new Lexer().lex(text)) {
    weight += weightOf(lexeme);
    if (weight > most) {
      throw newRequestEntityTooLarge(
        'the YAML has too many members to be read; JSON may be as large as the limit allows',
      );
    }
    yield* parser.next(lexeme);
  }
  yield* parser.end();
}
