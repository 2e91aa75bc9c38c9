import { addressErrors, addressWarnings, cidrErrors, cidrWarnings } from './addresses.js';

/** The errors and warnings of kube-apiserver. */
test.each([
  ['1.2.3.4', [], []],
  ['2001:db8::1', [], []],
  ['::', [], []],
  ['01.2.3.4', ['must not have leading 0s'], ['p: non-standard IP address "01.2.3.4" is invalid: use "1.2.3.4"']],
  [
    '::ffff:1.2.3.4',
    ['must not be an IPv4-mapped IPv6 address'],
    ['p: non-standard IP address "::ffff:1.2.3.4" is invalid: use "1.2.3.4"'],
  ],
  ['2001:DB8:0::1', [], ['p: IPv6 address "2001:DB8:0::1" should be in RFC 5952 canonical format ("2001:db8::1")']],
  ['1:0:0:2:0:0:0:3', [], ['p: IPv6 address "1:0:0:2:0:0:0:3" should be in RFC 5952 canonical format ("1:0:0:2::3")']],
  [
    '1:2:3:4:5:6:7::',
    [],
    ['p: IPv6 address "1:2:3:4:5:6:7::" should be in RFC 5952 canonical format ("1:2:3:4:5:6:7:0")'],
  ],
  ['1.2.3', ['must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)'], []],
  ['1::2::3', ['must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)'], []],
  ['fe80::1%eth0', ['must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)'], []],
])('address %s', (text, errors, warnings) => {
  expect(addressErrors(text)).toEqual(errors);
  expect(addressWarnings('p', text)).toEqual(warnings);
});

test.each([
  ['1.2.3.0/24', [], []],
  ['::/0', [], []],
  [
    '1.2.3.4/24',
    ['must not have bits set beyond the prefix length'],
    ['p: CIDR value "1.2.3.4/24" is ambiguous in this context (should be "1.2.3.0/24" or "1.2.3.4/32"?)'],
  ],
  [
    '1.2.3.0/024',
    ['must not have leading 0s in IP or prefix length'],
    ['p: non-standard CIDR value "1.2.3.0/024" is invalid: use "1.2.3.0/24"'],
  ],
  [
    '2001:DB8::/32',
    [],
    ['p: IPv6 CIDR value "2001:DB8::/32" should be in RFC 5952 canonical format ("2001:db8::/32")'],
  ],
  [
    '::ffff:1.2.3.0/120',
    ['must not have an IPv4-mapped IPv6 address'],
    ['p: non-standard CIDR value "::ffff:1.2.3.0/120" is invalid: use "1.2.3.0/24"'],
  ],
  ['1.2.3.4', ['must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)'], []],
  ['1.2.3.4/33', ['must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)'], []],
])('range %s', (text, errors, warnings) => {
  expect(cidrErrors(text)).toEqual(errors);
  expect(cidrWarnings('p', text)).toEqual(warnings);
});
