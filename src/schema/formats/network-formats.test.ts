import { isCidr, isIPv4, isIPv6, isMac } from './network-formats.js';

test.each([
  '00:11:22:33:44:5F',
  '00-11-22-33-44-55-66-77',
  '0011.2233.4455',
  '00112233445f',
  '0'.repeat(16),
  '0'.repeat(40),
])('%s is a hardware address', (text) => {
  expect(isMac(text)).toBe(true);
});

test.each(['', '00:11:22:33:44', '00:11-22:33:44:55', '0011.2233', '00112233445', '0'.repeat(14), '00112233445g'])(
  '%j is not a hardware address',
  (text) => {
    expect(isMac(text)).toBe(false);
  },
);

test('each format has its own rule for leading zeros', () => {
  expect([isCidr('00001::/0128'), isCidr('1.2.3.4/0033'), isIPv4('00001::01.2.3.4'), isIPv6('00001::')]).toEqual([
    true,
    false,
    true,
    false,
  ]);
});
