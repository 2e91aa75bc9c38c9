import fc from 'fast-check';
import { unifiedDiff } from './unified-diff.js';

const lines = (text: string): string[] => text.split('');

/** The output of `difflib.unified_diff` of Python, which has the same algorithm as the library of kube-apiserver. */
test.each([
  { name: 'nothing', a: 'abc', b: 'abc', diff: '' },
  { name: 'one line', a: 'abcdefgh', b: 'abcdXfgh', diff: '@@ -2,7 +2,7 @@| b| c| d|-e|+X| f| g| h|' },
  { name: 'to nothing', a: 'ab', b: '', diff: '@@ -1,2 +0,0 @@|-a|-b|' },
  { name: 'from nothing', a: '', b: 'a', diff: '@@ -0,0 +1 @@|+a|' },
  {
    name: 'two hunks',
    a: 'abcdefghijklmn',
    b: 'Xbcdefghijklmnop',
    diff: '@@ -1,4 +1,4 @@|-a|+X| b| c| d|@@ -12,3 +12,5 @@| l| m| n|+o|+p|',
  },
  {
    name: 'the longest block, not the first one',
    a: 'ab',
    b: 'acab',
    diff: '@@ -1,2 +1,4 @@|+a|+c| a| b|',
  },
  {
    name: 'changes that are six lines apart are one hunk',
    a: 'aXXXXXXb',
    b: 'cXXXXXXd',
    diff: '@@ -1,8 +1,8 @@|-a|+c| X| X| X| X| X| X|-b|+d|',
  },
])('$name', ({ a, b, diff }) => {
  expect(unifiedDiff(lines(a), lines(b))).toBe(diff.replaceAll('|', '\n'));
});

/** Applies a diff to a list of lines, and checks the line numbers of its hunks. */
function patched(a: readonly string[], diff: string): string[] {
  const out: string[] = [];
  let at = 0;
  for (const line of diff.split('\n').slice(0, -1)) {
    const hunk = /^@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@$/.exec(line);
    if (hunk !== null) {
      const start = Number(hunk[1]) - (hunk[2] === '0' ? 0 : 1);
      out.push(...a.slice(at, start));
      at = start;
      expect(out).toHaveLength(Number(hunk[3]) - (hunk[4] === '0' ? 0 : 1));
    } else if (line.startsWith('+')) out.push(line.slice(1));
    else {
      expect(a[at]).toBe(line.slice(1));
      if (line.startsWith(' ')) out.push(line.slice(1));
      at++;
    }
  }
  return [...out, ...a.slice(at)];
}

const text = fc.array(fc.constantFrom('a', 'b', 'c', 'd', 'e'), { maxLength: 300 });

test('a diff turns one list into the other, regardless of the budget', () => {
  fc.assert(
    fc.property(text, text, fc.constantFrom(0, 10, 1000, undefined), (a, b, budget) => {
      expect(patched(a, unifiedDiff(a, b, budget))).toEqual(b);
    }),
    { numRuns: 300 },
  );
});

test('repetitive lists that take too long to compare are reported as different', () => {
  const many = Array.from({ length: 199 }, () => 'x');
  const diff = unifiedDiff(many, [...many.slice(1), 'y'], 1000);
  expect(patched(many, diff)).toEqual([...many.slice(1), 'y']);
});
