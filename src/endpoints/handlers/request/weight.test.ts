import { mainThreadLimit } from './weight.js';

test.each([
  [undefined, 65_536],
  ['application/json', 65_536],
  ['application/yaml', 16_384],
  ['application/vnd.kubernetes.protobuf', 21_845],
  ['application/cbor', 21_845],
])('bodies of type %s that no worker takes have up to %i bytes', (type, limit) => {
  expect(mainThreadLimit(type, 3 << 20)).toBe(limit);
  expect(mainThreadLimit(type, 1000)).toBe(1000);
});
