/**
 * Indents compact JSON text as kube-apiserver's pretty printer does: two spaces per level, empty objects and lists on one line.
 * Numbers and strings are unchanged. `depth` is the level at which the text is inserted.
 */
export function indentJson(text: string, depth = 0): string {
  const out: string[] = [];
  let level = depth;
  let from = 0;
  for (let i = 0; i < text.length; i++) {
    const char = text[i];
    if (char === '"') {
      i = stringEnd(text, i);
    } else if (char === '{' || char === '[') {
      const close = char === '{' ? '}' : ']';
      if (text[i + 1] === close) {
        i++;
        continue;
      }
      level++;
      out.push(text.slice(from, i + 1), newLine(level));
      from = i + 1;
    } else if (char === '}' || char === ']') {
      level--;
      // Stored text may have a space here.
      out.push(text.slice(from, i).trimEnd(), newLine(level));
      from = i;
    } else if (char === ',') {
      out.push(text.slice(from, i + 1), newLine(level));
      from = i + 1;
    } else if (char === ':') {
      out.push(text.slice(from, i + 1), ' ');
      from = i + 1;
    }
  }
  out.push(text.slice(from));
  return out.join('');
}

/** Returns the index of the quote that closes the string opened at `start`. */
function stringEnd(text: string, start: number): number {
  let end = start;
  for (;;) {
    end = text.indexOf('"', end + 1);
    if (end === -1) return text.length;
    let slashes = 0;
    while (text[end - 1 - slashes] === '\\') slashes++;
    if (slashes % 2 === 0) return end;
  }
}

const newLines: string[] = [];

function newLine(level: number): string {
  return (newLines[level] ??= `\n${'  '.repeat(level)}`);
}
