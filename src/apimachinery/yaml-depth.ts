import { JsonError, MAX_DEPTH } from './json-syntax.js';

const BLANKS = ' \t\n';
/** Characters after which a quote opens a text. */
const BEFORE_QUOTE = `${BLANKS}[{,:`;

/**
 * Refuses brackets that are nested too deeply before anything is made of them: the reader of YAML would need a hundred times
 * the text's size. Throws JsonError.
 */
export function checkFlowDepth(text: string): void {
  if (!hasManyBrackets(text)) return;
  let depth = 0;
  let line = 1;
  for (let i = 0; i < text.length; i++) {
    const char = text.charAt(i);
    if (char === '\n') line++;
    else if ((char === '"' || char === "'") && BEFORE_QUOTE.includes(text.charAt(i - 1))) {
      const end = endOfQuoted(text, i + 1, char);
      for (let j = text.indexOf('\n', i); j >= 0 && j < end; j = text.indexOf('\n', j + 1)) line++;
      i = end;
    } else if (char === '[' || char === '{') {
      // Within plain words brackets are letters.
      if (depth === 0 && !BLANKS.includes(text.charAt(i - 1))) continue;
      if (++depth > MAX_DEPTH) {
        throw new JsonError(`yaml: line ${String(line)}: exceeded max depth of ${String(MAX_DEPTH)}`);
      }
    } else if ((char === ']' || char === '}') && depth > 0) depth--;
  }
}

function hasManyBrackets(text: string): boolean {
  let count = 0;
  for (const bracket of '[{') {
    for (let at = text.indexOf(bracket); at >= 0 && count <= MAX_DEPTH; at = text.indexOf(bracket, at + 1)) count++;
  }
  return count > MAX_DEPTH;
}

function endOfQuoted(text: string, from: number, quote: string): number {
  for (let i = from; i < text.length; i++) {
    const char = text.charAt(i);
    if (char === '\\' && quote === '"') i++;
    else if (char === quote) return i;
  }
  return text.length;
}
