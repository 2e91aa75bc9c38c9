import { append } from '../append.js';

interface Match {
  readonly a: number;
  readonly b: number;
  readonly size: number;
}

interface Change {
  readonly equal: boolean;
  readonly a: readonly [from: number, to: number];
  readonly b: readonly [from: number, to: number];
}

/** The number of unchanged lines shown around a change. */
const CONTEXT = 3;
/** In texts of at least this many lines, a line that makes up more than 1 % of them is not used as the starting point of a match. */
const POPULAR_FROM = 200;
/** The maximum number of line comparisons. After that, the rest counts as different. */
const MAX_COMPARISONS = 20_000_000;

/**
 * Returns the differences of two lists of lines as a unified diff without a file header, or an empty string if there are none. Matching
 * blocks are found as by Ratcliff and Obershelp: the longest common block, then recursively before and after it. In the worst case this
 * takes quadratic time. After `budget` comparisons, everything not compared yet counts as different, except for common beginnings and ends.
 */
export function unifiedDiff(a: readonly string[], b: readonly string[], budget = MAX_COMPARISONS): string {
  const text: string[] = [];
  for (const hunk of hunks(changes(a, b, matchingBlocks(a, b, budget)))) {
    const first = hunk[0];
    const last = hunk.at(-1);
    if (first === undefined || last === undefined) continue;
    text.push(`@@ -${range(first.a[0], last.a[1])} +${range(first.b[0], last.b[1])} @@\n`);
    for (const { equal, a: before, b: after } of hunk) {
      for (let i = before[0]; i < before[1]; i++) text.push(`${equal ? ' ' : '-'}${a[i] ?? ''}\n`);
      if (equal) continue;
      for (let i = after[0]; i < after[1]; i++) text.push(`+${b[i] ?? ''}\n`);
    }
  }
  return text.join('');
}

/** Formats a range of line numbers, which begin at 1. An empty range is named by the line before it. */
function range(from: number, to: number): string {
  const length = to - from;
  if (length === 1) return String(from + 1);
  return `${length === 0 ? from : from + 1},${length}`;
}

/** The positions of each line in b, without the popular lines. */
function placesOf(b: readonly string[]): Map<string, number[]> {
  const places = new Map<string, number[]>();
  b.forEach((line, i) => append(places, line, i));
  if (b.length < POPULAR_FROM) return places;
  const most = Math.floor(b.length / 100) + 1;
  for (const [line, at] of places) if (at.length > most) places.delete(line);
  return places;
}

class Matcher {
  private readonly places: ReadonlyMap<string, readonly number[]>;

  constructor(
    private readonly a: readonly string[],
    private readonly b: readonly string[],
    private budget: number,
  ) {
    this.places = placesOf(b);
  }

  /** Returns the longest matching block within both ranges. Among blocks of equal length, the first in a is chosen, then the first in b. */
  longest(aFrom: number, aTo: number, bFrom: number, bTo: number): Match {
    let best: Match = { a: aFrom, b: bFrom, size: 0 };
    let lengths = new Map<number, number>();
    for (let i = aFrom; i < aTo && this.budget > 0; i++) {
      const next = new Map<number, number>();
      for (const j of this.places.get(this.a[i] ?? '') ?? []) {
        this.budget--;
        if (j < bFrom) continue;
        if (j >= bTo) break;
        const size = (lengths.get(j - 1) ?? 0) + 1;
        next.set(j, size);
        if (size > best.size) best = { a: i - size + 1, b: j - size + 1, size };
      }
      lengths = next;
    }
    return this.extended(best, aFrom, aTo, bFrom, bTo);
  }

  /** Extends a match by the equal lines around it, which may be popular ones. */
  private extended({ a, b, size }: Match, aFrom: number, aTo: number, bFrom: number, bTo: number): Match {
    while (a > aFrom && b > bFrom && this.a[a - 1] === this.b[b - 1]) {
      a--;
      b--;
      size++;
    }
    while (a + size < aTo && b + size < bTo && this.a[a + size] === this.b[b + size]) size++;
    return { a, b, size };
  }
}

/** Returns the matching blocks in order. */
function matchingBlocks(a: readonly string[], b: readonly string[], budget: number): Match[] {
  const matcher = new Matcher(a, b, budget);
  const found: Match[] = [];
  const open: (readonly [aFrom: number, aTo: number, bFrom: number, bTo: number])[] = [[0, a.length, 0, b.length]];
  for (let part = open.pop(); part !== undefined; part = open.pop()) {
    const [aFrom, aTo, bFrom, bTo] = part;
    if (aFrom === aTo || bFrom === bTo) continue;
    const match = matcher.longest(aFrom, aTo, bFrom, bTo);
    if (match.size === 0) continue;
    found.push(match);
    open.push([aFrom, match.a, bFrom, match.b], [match.a + match.size, aTo, match.b + match.size, bTo]);
  }
  return found.sort((one, other) => one.a - other.a);
}

/** Returns the changes that lead from a to b. */
function changes(a: readonly string[], b: readonly string[], matches: readonly Match[]): Change[] {
  const found: Change[] = [];
  let i = 0;
  let j = 0;
  for (const match of [...matches, { a: a.length, b: b.length, size: 0 }]) {
    if (i < match.a || j < match.b) found.push({ equal: false, a: [i, match.a], b: [j, match.b] });
    i = match.a + match.size;
    j = match.b + match.size;
    const last = found.at(-1);
    if (match.size === 0) continue;
    if (last?.equal === true) found[found.length - 1] = { equal: true, a: [last.a[0], i], b: [last.b[0], j] };
    else found.push({ equal: true, a: [match.a, i], b: [match.b, j] });
  }
  return found;
}

/** Groups changes with some unchanged lines around them. Changes that are close to each other form one group. */
function hunks(all: readonly Change[]): Change[][] {
  if (all.every(({ equal }) => equal)) return [];
  const groups: Change[][] = [];
  let group: Change[] = [];
  all.forEach((change, at) => {
    const { equal, a, b } = change;
    if (!equal) {
      group.push(change);
      return;
    }
    const length = a[1] - a[0];
    const head: Change = { equal, a: [a[0], a[0] + CONTEXT], b: [b[0], b[0] + CONTEXT] };
    const tail: Change = { equal, a: [a[1] - CONTEXT, a[1]], b: [b[1] - CONTEXT, b[1]] };
    if (at === 0) group.push(length > CONTEXT ? tail : change);
    else if (at === all.length - 1) group.push(length > CONTEXT ? head : change);
    else if (length > 2 * CONTEXT) {
      groups.push([...group, head]);
      group = [tail];
    } else group.push(change);
  });
  groups.push(group);
  return groups;
}
