import type { RequestScope } from '../scope.js';
import { mainThreadLimit, weightOf } from './weight.js';

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

const weigh = (type: string, body: string | Buffer): number => {
  const served = { maxDefaultedValues: () => 0 };
  const scope = { request: { headers: { 'content-type': type } }, context: { info: { name: '' } }, store: {}, served };
  return weightOf(scope as unknown as RequestScope, Buffer.from(body), 65_536);
};

test.each<[string, string, (levels: number) => string | Buffer]>([
  ['arrays', 'application/json', (levels) => '['.repeat(levels) + ']'.repeat(levels)],
  ['maps', 'application/json', (levels) => '{"a":'.repeat(levels) + '1' + '}'.repeat(levels)],
  [
    'arrays after brackets in a string',
    'application/json',
    (levels) => `["${']'.repeat(levels)}",${'['.repeat(levels)}`,
  ],
  ['YAML in one line', 'application/yaml', (levels) => '- '.repeat(levels)],
  ['flow collections of YAML', 'application/yaml', (levels) => `a: ${'['.repeat(levels)}`],
  ['CBOR', 'application/cbor', (levels) => Buffer.alloc(levels, 0x81)],
])('%s of many levels need a worker, whatever they weigh', (_what, type, make) => {
  expect(weigh(type, make(100))).toBeLessThan(65_536);
  expect(weigh(type, make(300))).toBe(Infinity);
});
