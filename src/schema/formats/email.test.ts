import { isEmailAddress } from './email.js';

test.each([
  'a@b',
  ' a.b@c.d (who (else) \\) )',
  '"a \\" b"@c',
  'é@[1.2.3.4]',
  'a@[::1]',
  'A. "B" (c) D <a@b> (e)',
  '=?utf-8?q?J=C3=B6rg?= <a@b>',
  'a =?foo?q?=zz?= <a@b>',
  'group: a@b;',
  'group: A <a@b> (c) ; (d)',
])('%j is an address', (text) => {
  expect(isEmailAddress(text)).toBe(true);
});

test.each([
  '',
  'a@',
  'a@b\n',
  '\na@b',
  'a @b',
  '""@b',
  '"a\u0001"@b',
  'a..b@c',
  '.a@b',
  'a@b.',
  'a@[IPv6:::1]',
  'a@[1.2.3.04]',
  'a@[::1%eth0]',
  'a@b (c',
  'a@b (=?foo?q?a?=)',
  '=?foo?b?YQ==?= <a@b>',
  '=?utf-8?q?a?=(c)<a@b>',
  'A <a@b',
  'group: ;',
  'group: a@b',
  'group: a@b, c@d;',
  'group: inner: a@b;;',
  'a@b, c@d',
])('%j is not an address', (text) => {
  expect(isEmailAddress(text)).toBe(false);
});
