import { readYamlDocument } from './nodes.js';

test.each([
  { name: 'list', text: `[${'1,'.repeat(400)}1]` },
  { name: 'list of lists', text: `[${'[],'.repeat(400)}1]` },
  { name: 'list by indentation', text: '- 1\n'.repeat(400) },
  { name: 'list of empty items', text: '-\n'.repeat(400) },
  { name: 'set', text: `{${'a,'.repeat(400)}}` },
  { name: 'map', text: 'a: b\n'.repeat(400) },
])('a $name with too many members is refused', ({ text }) => {
  expect(readYamlDocument(text, 1000)).toBeDefined();
  expect(() => readYamlDocument(text, 300)).toThrow(
    'Request entity too large: the YAML has too many members to be decoded',
  );
});

test.each([
  { name: 'a long text', text: `a: ${'x'.repeat(10_000)}` },
  { name: 'a text of many lines', text: `a: |\n${'  b, [c]: {d}\n'.repeat(1000)}` },
  { name: 'a quoted text', text: `a: "${'[,'.repeat(1000)}"` },
  { name: 'comments', text: `a: b\n${'# c\n'.repeat(1000)}` },
  { name: 'blank lines', text: `a: b\n${'  \n'.repeat(1000)}c: d` },
  { name: 'what follows the document', text: `a: b\n${'---\n- c\n'.repeat(1000)}` },
])('$name: not counted as members', ({ text }) => {
  expect(readYamlDocument(text, 30)).toBeDefined();
});
