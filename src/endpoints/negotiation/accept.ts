/** One alternative of an Accept header. */
export interface AcceptClause {
  readonly type: string;
  readonly subtype: string;
  readonly quality: number;
  readonly params: ReadonlyMap<string, string>;
}

const noParams: ReadonlyMap<string, string> = new Map();

/** The maximum number of alternatives, and of parameters of one, that are read: more than any client sends. The rest is ignored, so a long header costs nothing. */
export const maxClauses = 64;

/**
 * Parses the alternatives of an Accept header, the preferred ones first. Malformed ones are skipped. Equal ones are in the order
 * of kube-apiserver's parser, which clients with several wildcards can observe.
 */
export function parseAccept(header: string): AcceptClause[] {
  const clauses: AcceptClause[] = [];
  for (const part of header.split(',', maxClauses)) {
    const clause = parseClause(part);
    if (clause !== undefined) insert(clauses, clause);
  }
  return clauses;
}

function insert(clauses: AcceptClause[], clause: AcceptClause): void {
  let at = clauses.length;
  while (at > 0 && precedes(clause, clauses[at - 1] as AcceptClause)) at--;
  clauses.splice(at, 0, clause);
}

/** Not a strict order: in kube-apiserver a concrete type precedes a wildcard of higher quality. */
function precedes(a: AcceptClause, b: AcceptClause): boolean {
  return a.quality > b.quality || (a.type !== '*' && b.type === '*') || (a.subtype !== '*' && b.subtype === '*');
}

function parseClause(part: string): AcceptClause | undefined {
  const [range = '', ...rest] = trimSpaces(part).split(';', maxClauses);
  const slash = range.split('/', 4);
  const type = trimSpaces(slash[0] ?? '');
  let subtype: string;
  if (slash.length === 1 || slash[1] === '') {
    if (type !== '*') return undefined;
    subtype = '*';
  } else if (slash.length > 2 && slash.slice(2).join('/') !== '') {
    return undefined;
  } else {
    subtype = trimSpaces(slash[1] ?? '');
  }
  if (rest.length === 0) return { type, subtype, quality: 1, params: noParams };
  return { type, subtype, ...parseParams(rest) };
}

function parseParams(texts: readonly string[]): { quality: number; params: Map<string, string> } {
  const params = new Map<string, string>();
  let quality = 1;
  for (const text of texts) {
    const parts = text.split('=', 4);
    const value = parts[1] ?? '';
    if (value === '' || (parts.length > 2 && parts.slice(2).join('=') !== '')) continue;
    const name = trimSpaces(parts[0] ?? '');
    if (name === 'q') quality = parseQuality(value);
    else params.set(name, trimSpaces(value));
  }
  return { quality, params };
}

/** Parses a quality. An invalid value counts as 0, which ranks low but is still acceptable. */
function parseQuality(text: string): number {
  return /^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i.test(text) ? Math.fround(Number(text)) : 0;
}

function trimSpaces(text: string): string {
  let start = 0;
  let end = text.length;
  while (start < end && text.charCodeAt(start) === 0x20) start++;
  while (end > start && text.charCodeAt(end - 1) === 0x20) end--;
  return text.slice(start, end);
}

/** Reports whether one of the media ranges, without parameters, is `*` over `*` or a listed type: the router's check, before the handlers'. */
export function acceptsOneOf(header: string, types: readonly string[]): boolean {
  for (const part of header.split(',', maxClauses)) {
    const semicolon = part.indexOf(';');
    const range = trimSpaces(semicolon === -1 ? part : part.slice(0, semicolon));
    if (range === '*/*' || types.includes(range)) return true;
  }
  return false;
}
