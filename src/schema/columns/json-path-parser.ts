import { trimBoth } from '../../util/text/trim.js';
/** Thrown for a path that is malformed, or does not fit the value. */
export class JsonPathError extends Error {}

export interface SliceNode {
  readonly kind: 'slice';
  readonly from: number | undefined;
  readonly to: number | undefined;
  readonly step: number | undefined;
  /** True if the end follows from the start: `[3]`. */
  readonly derived: boolean;
}

export type PathNode =
  | { readonly kind: 'field'; readonly name: string }
  | SliceNode
  | { readonly kind: 'wildcard' }
  | { readonly kind: 'recursive' }
  | { readonly kind: 'union'; readonly alternatives: readonly (readonly PathNode[])[] }
  | {
      readonly kind: 'filter';
      readonly left: readonly PathNode[];
      readonly right: readonly PathNode[];
      readonly operator: string;
    }
  | { readonly kind: 'text'; readonly value: string }
  | { readonly kind: 'literal'; readonly value: number | boolean }
  | { readonly kind: 'identifier'; readonly name: string };

const MAX_NESTING = 100;

/** Parses kubectl's JSONPath: the content of the braces of `{…}`. Text after a closing brace creates further groups. */
export function parseJsonPath(text: string): (readonly PathNode[])[] {
  return new Parser(`{${text}}`, 0).parse();
}

const isTerminator = (char: string): boolean => char === '' || ' \t\r\n.,[]$@{}'.includes(char);
const isWord = (char: string): boolean => char !== '' && /[\p{L}\p{Nd}_]/u.test(char);

class Parser {
  private readonly chars: readonly string[];
  private at = 0;
  private nodes: PathNode[] = [];

  constructor(
    text: string,
    private readonly nesting: number,
  ) {
    if (nesting > MAX_NESTING) throw new JsonPathError('nested too deeply');
    this.chars = Array.from(text);
  }

  parse(): (readonly PathNode[])[] {
    const groups: (readonly PathNode[])[] = [];
    while (this.at < this.chars.length) {
      const start = this.at;
      while (this.at < this.chars.length && this.peek() !== '{') this.at++;
      if (this.at > start) groups.push([{ kind: 'text', value: this.slice(start) }]);
      if (this.at === this.chars.length) break;
      this.at++;
      this.nodes = [];
      while (this.action());
      groups.push(this.nodes);
    }
    return groups;
  }

  private peek(): string {
    return this.chars[this.at] ?? '';
  }

  private slice(from: number, to = this.at): string {
    return this.chars.slice(from, to).join('');
  }

  private startsWith(text: string): boolean {
    return this.slice(this.at, this.at + text.length) === text;
  }

  /** Parses one element inside the braces. Returns false at the closing brace. */
  private action(): boolean {
    if (this.startsWith('}')) {
      this.at++;
      return false;
    }
    if (this.startsWith('[?(')) this.filter();
    else if (this.startsWith('..')) this.recursive();
    else this.element(this.peek());
    return true;
  }

  private element(char: string): void {
    if (char === '' || char === '\r' || char === '\n') throw new JsonPathError('unclosed action');
    if (char === ' ' || char === '@' || char === '$') this.at++;
    else if (char === '[') this.array();
    else if (char === '"' || char === "'") this.quoted(char);
    else if (char === '.') this.field();
    else if (char === '+' || char === '-' || /\p{Nd}/u.test(char)) this.number();
    else if (isWord(char)) this.identifier();
    else throw new JsonPathError(`unrecognized character in action: ${char}`);
  }

  private identifier(): void {
    const start = this.at;
    while (!isTerminator(this.peek())) this.at++;
    const name = this.slice(start);
    if (name === 'true' || name === 'false') this.nodes.push({ kind: 'literal', value: name === 'true' });
    else this.nodes.push({ kind: 'identifier', name });
  }

  private recursive(): void {
    if (this.nodes.at(-1)?.kind === 'recursive') throw new JsonPathError('invalid multiple recursive descent');
    this.at += 2;
    this.nodes.push({ kind: 'recursive' });
    if (isWord(this.peek())) this.name(this.at);
  }

  private number(): void {
    const start = this.at;
    if (this.peek() === '+' || this.peek() === '-') this.at++;
    while (/[.\p{Nd}]/u.test(this.peek())) this.at++;
    const text = this.slice(start);
    if (!/^[+-]?(\d+\.?\d*|\.\d+)$/.test(text)) throw new JsonPathError(`cannot parse number ${text}`);
    this.nodes.push({ kind: 'literal', value: Number(text) });
  }

  private field(): void {
    this.at++;
    this.name(this.at);
  }

  private name(start: number): void {
    for (;;) {
      const char = this.peek();
      if (char === '\\') this.at = Math.min(this.at + 2, this.chars.length);
      else if (isTerminator(char)) break;
      else this.at++;
    }
    const name = this.slice(start);
    this.nodes.push(name === '*' ? { kind: 'wildcard' } : { kind: 'field', name: name.replaceAll('\\', '') });
  }

  private quoted(quote: string): void {
    const start = ++this.at;
    while (this.peek() !== quote || this.chars[this.at - 1] === '\\') {
      if (this.peek() === '' || this.peek() === '\n') throw new JsonPathError('unterminated quoted string');
      this.at++;
    }
    this.nodes.push({ kind: 'text', value: unescape(this.slice(start)) });
    this.at++;
  }

  private array(): void {
    const start = this.at + 1;
    while (this.peek() !== ']') {
      if (this.peek() === '' || this.peek() === '\n') throw new JsonPathError('unterminated array');
      this.at++;
    }
    const text = this.slice(start);
    this.at++;
    const parts = text.split(',');
    const key = /^'([^']*)'$/.exec(text)?.[1];
    if (parts.length > 1) {
      const alternatives = parts.map((part) => this.inner(`[${trimBoth(part, ' ')}]`));
      this.nodes.push({ kind: 'union', alternatives });
    } else if (key !== undefined) this.nodes.push(...this.inner(`.${key}`));
    else this.nodes.push(sliceOf(text === '*' ? ':' : text));
  }

  private inner(text: string): readonly PathNode[] {
    return new Parser(`{${text}}`, this.nesting + 1).parse()[0] ?? [];
  }

  private filter(): void {
    this.at += 3;
    const start = this.at;
    let quote = '';
    let closed = false;
    for (; ; this.at++) {
      const char = this.peek();
      if (char === '' || char === '\n') throw new JsonPathError('unterminated filter');
      if (char === '"' || char === "'") {
        if (quote === '') quote = char;
        else if (char === quote && this.chars[this.at - 1] !== '\\') closed = true;
      } else if (char === ')' && (quote !== '') === closed) break;
    }
    const text = this.slice(start);
    this.at++;
    if (this.peek() !== ']') throw new JsonPathError('unclosed array expect ]');
    this.at++;
    const match = /^([^!<>=]+)([!<>=]+)(.+)$/.exec(text);
    const [, left = text, operator = 'exists', right = ''] = match ?? [];
    this.nodes.push({
      kind: 'filter',
      left: this.inner(left),
      right: match === null ? [] : this.inner(right),
      operator,
    });
  }
}

function sliceOf(text: string): SliceNode {
  const match = /^(-?\d*)(:-?\d*)?(:-?\d*)?$/.exec(text);
  if (match === null) throw new JsonPathError(`invalid array index ${text}`);
  const number = (digits: string): number | undefined => {
    if (digits === '') return undefined;
    if (digits === '-') throw new JsonPathError(`array index ${digits} is not a number`);
    return Number(digits);
  };
  const [, first = '', second, third] = match;
  const from = number(first);
  // Without a colon, the index selects the element itself.
  const derived = second === undefined;
  return {
    kind: 'slice',
    from,
    to: derived ? (from ?? 0) + 1 : number(second.slice(1)),
    step: third === undefined ? undefined : number(third.slice(1)),
    derived,
  };
}

const ESCAPES: Readonly<Record<string, string>> = {
  a: '\u0007',
  b: '\b',
  f: '\f',
  n: '\n',
  r: '\r',
  t: '\t',
  v: '\v',
  '\\': '\\',
  "'": "'",
  '"': '"',
};

function unescape(text: string): string {
  return text.replace(/\\(x[0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|[\s\S]?)/g, (_, code: string) => {
    if (code.length > 1) return String.fromCharCode(parseInt(code.slice(1), 16));
    const char = ESCAPES[code];
    if (char === undefined) throw new JsonPathError('unquote string error invalid syntax');
    return char;
  });
}
