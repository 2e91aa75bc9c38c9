import { redactedAddress } from './redacted-address.js';

test.each([
  ['https://a.example:443/x?y=z', 'https://a.example:443/x?y=z'],
  ['https://jane:s3cret@a.example/x', 'https://jane:***@a.example/x'],
  ['https://jane:s3@cret@a.example:1/x', 'https://jane:***@a.example:1/x'],
  ['https://jane:s3/cret@a.example', 'https://***@a.example'],
  ['//jane:s3cret@a.example', '//jane:***@a.example'],
  ['https://jane@a.example', 'https://jane@a.example'],
  ['no address', 'no address'],
  ['', ''],
])('%s', (text, redacted) => {
  expect(redactedAddress(text)).toBe(redacted);
});
