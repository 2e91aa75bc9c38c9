import type { JsonObject } from '../../apimachinery/json/json.js';
import { resolveFieldPath } from './field-path.js';

const schema: JsonObject = {
  type: 'object',
  properties: {
    open: { type: 'object', additionalProperties: true },
    closed: { type: 'object', additionalProperties: false },
    texts: { type: 'object', additionalProperties: { type: 'string' } },
  },
};

test.each<[string, string, JsonObject]>([
  ['.texts.a', 'texts[a]', { type: 'string' }],
  ['.open.a', 'open[a]', {}],
  [".closed['a']", 'closed[a]', {}],
])('%s resolves to the path %s', (text, path, found) => {
  const result = resolveFieldPath(text, schema);
  expect(result).toEqual({ path: expect.anything() as unknown, schema: found });
  expect('path' in result && result.path.toString()).toBe(path);
});

test('a path below a value of any type is not a field', () => {
  expect(resolveFieldPath('.open.a.b', schema)).toEqual({ error: 'does not refer to a valid field' });
});
