import { lineOf, ok, resultOf, skipped, warning, failed } from './finding.js';

test.each([
  [ok('store', 'MongoDB 7'), { name: 'store', status: 'ok', message: 'MongoDB 7' }, 'store: ok (MongoDB 7)'],
  [skipped('rights', 'why'), { name: 'rights', status: 'skipped', message: 'why' }, 'rights: skipped (why)'],
  [warning('a', 'b'), { name: 'a', status: 'warning', message: 'b' }, 'a: warning (b)'],
  [
    failed('a', new Error('b\nc'), 'd'),
    { name: 'a', status: 'failed', message: 'b\nc', hint: 'd' },
    'a: failed: b c; fix: d',
  ],
])('%j', (finding, result, line) => {
  expect(resultOf(finding)).toEqual(result);
  expect(lineOf(finding)).toBe(line);
});
