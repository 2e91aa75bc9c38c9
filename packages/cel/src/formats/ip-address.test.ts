import { isIPv6 } from 'node:net';
import fc from 'fast-check';
import { ipText, parseIp } from './ip-address.js';

const read = (text: string): string | undefined => {
  const found = parseIp(text);
  return found && ipText(found.value, found.bits);
};

test.each([
  ['1.2.3.4', '1.2.3.4'],
  ['001.2.3.04', '1.2.3.4'],
  ['1.2.3.256', undefined],
  ['1.2.3', undefined],
  ['::', '::'],
  ['1::', '1::'],
  ['1:2:3:4:5:6:7::', '1:2:3:4:5:6:7:0'],
  ['1:2:3:4:5:6:7:8::', undefined],
  ['::1:2:3:4:5:6:7:8', undefined],
  ['::FFFF:1.2.3.4', '1.2.3.4'],
  ['64:ff9b::1.2.3.4', '64:ff9b::102:304'],
  ['1:2:3:4:5:6:1.2.3.4', '1:2:3:4:5:6:102:304'],
  ['1.2.3.4::', undefined],
  ['::1.2.3.4:5', undefined],
  ['::.', undefined],
  ['::1.2.3', undefined],
  ['::129.96', undefined],
  [':1::', undefined],
  ['1::2:', undefined],
  ['1:::2', undefined],
  ['fe80::1%eth0', undefined],
  ['12345::', undefined],
  ['000001::00ffff', '1::ffff'],
  [`1::${'0'.repeat(2000)}`, undefined],
])('parses %s as %s', (text, expected) => {
  expect(read(text)).toBe(expected);
});

test('accepts the IPv6 addresses that Node accepts, and formats what it parses', () => {
  const part = fc.oneof(fc.constantFrom('', ':', '::', '1.2.3.4', '0', 'ffff'), fc.stringMatching(/^[0-9a-f]{1,5}$/));
  fc.assert(
    fc.property(fc.array(part, { maxLength: 9 }), (parts) => {
      const text = parts.join(':');
      fc.pre(text.includes(':'));
      const found = parseIp(text);
      expect(found !== undefined).toBe(isIPv6(text));
      if (found !== undefined) expect(parseIp(ipText(found.value, found.bits))?.value).toBe(found.value);
    }),
  );
});
