import { yamlTokens } from './yaml-tokens.js';

const read = (text: string, most: number): number => [...yamlTokens(text, () => undefined, most)].length;

test.each([
  { name: 'list', text: `[${'1,'.repeat(400)}1]` },
  { name: 'list of lists', text: `[${'[],'.repeat(400)}1]` },
  { name: 'list by indentation', text: '- 1\n'.repeat(400) },
  { name: 'list of empty items', text: '-\n'.repeat(600) },
  { name: 'set', text: `{${'a,'.repeat(400)}}` },
  { name: 'map', text: 'a: b\n'.repeat(400) },
  { name: 'stream of documents', text: '--- a\n'.repeat(400) },
])('a $name of too many members is refused', ({ text }) => {
  expect(read(text, 10_000)).toBeGreaterThan(0);
  expect(() => read(text, 1000)).toThrow('Request entity too large: the YAML has too many members to be read');
});

test.each([
  { name: 'a long text', text: `a: ${'x'.repeat(10_000)}` },
  { name: 'a text of many lines', text: `a: |\n${'  b, [c]: {d}\n'.repeat(1000)}` },
  { name: 'a quoted text', text: `a: "${'[,'.repeat(1000)}"` },
  { name: 'comments', text: `a: b\n${'# c\n'.repeat(1000)}` },
  { name: 'blank lines', text: `a: b\n${'  \n'.repeat(1000)}c: d` },
])('$name is no matter of members', ({ text }) => {
  expect(read(text, 30)).toBeGreaterThan(0);
});
