import { managerFromUserAgent, managerOrUserAgent } from './manager-name.js';

test.each([
  ['kubectl/v1.36.3 (linux/amd64)', 'kubectl'],
  ['no-slash', 'no-slash'],
  ['/leading', ''],
  ['', ''],
  ['tab\tbell\u0007 and space/1', 'tabbell and space'],
  ['zero\u200bwidth/1', 'zerowidth'],
  ['\udce9a\udcff\udc85/1', '\ufffda\ufffd\ufffd'],
  ['m'.repeat(200), 'm'.repeat(128)],
  [`${'m'.repeat(127)}é/1`, 'm'.repeat(127)],
  ['é'.repeat(100), 'é'.repeat(64)],
])('derives the manager from User-Agent %j', (userAgent, name) => {
  expect(managerFromUserAgent(userAgent)).toBe(name);
});

test('an explicit manager takes precedence', () => {
  expect(managerOrUserAgent('named', 'kubectl/1')).toBe('named');
  expect(managerOrUserAgent('', 'kubectl/1')).toBe('kubectl');
});
