import type { JsonObject } from '../../apimachinery/json/json.js';
import { JsonPath } from './json-path.js';

function nested(depth: number): JsonObject {
  let object: JsonObject = { b: 'end' };
  for (let i = 0; i < depth; i++) object = { a: object };
  return object;
}

test('a path that multiplies what it visits leads nowhere, soon', () => {
  const list = { a: Array.from({ length: 9000 }, () => 'x') };
  const paths: readonly (readonly [string, JsonObject])[] = [
    ['..a..b', nested(5000)],
    [`.a[${'0,'.repeat(9000)}0]`, { a: [list] }],
    [`.a[${'0,'.repeat(9000)}0].a[*]`, { a: [list] }],
    [`.a[${'0,'.repeat(9000)}0].a[0:9000]`, { a: [list] }],
    ['.a[?(@..a..b)]', { a: Array.from({ length: 1000 }, () => nested(500)) }],
  ];
  const before = process.cpuUsage();
  for (const [path, object] of paths) new JsonPath(path).first(object);
  const { user, system } = process.cpuUsage(before);
  expect((user + system) / 1000).toBeLessThan(1500);
  expect(new JsonPath('..a..b').first(nested(5000))).toBeUndefined();
});

test('paths of usual size lead to their first value', () => {
  expect(new JsonPath('..a..b').first(nested(100))).toBe('end');
  const conditions = Array.from({ length: 5000 }, (_, i) => ({ type: `t${i}`, status: String(i) }));
  expect(new JsonPath('.status.conditions[?(@.type=="t4000")].status').first({ status: { conditions } })).toBe('4000');
  expect(new JsonPath('.a[-1:]').first({ a: [1, 2, 3] })).toBe(3);
});
