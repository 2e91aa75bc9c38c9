import { hasListItem, listItems } from './header-list.js';

test.each([
  ['upgrade', true],
  ['Upgrade', true],
  ['keep-alive, Upgrade', true],
  ['keep-alive,\tupgrade \t, close', true],
  [',,upgrade', true],
  ['', false],
  [',', false],
  ['a upgrade', false],
  ['upgrade a', false],
  ['upgraded', false],
])('hasListItem: %j: %s', (header, has) => {
  expect(hasListItem(header, 'upgrade')).toBe(has);
});

test('listItems yields items without the spaces around them', () => {
  expect([...listItems(' a ,b,, c d\t')]).toEqual(['a', 'b', '', 'c d']);
  expect([...listItems('')]).toEqual(['']);
});
