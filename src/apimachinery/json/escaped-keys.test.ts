import { decodeDetailed, parseJson, parsePlainJson, parseWithFloats, parseWritten } from './decode.js';
import type { JsonObject } from './json.js';

const parsers = {
  parseJson,
  parseWritten,
  parseWithFloats,
  parsePlainJson,
  decodeDetailed: (text: string) => decodeDetailed(text, { strict: true }).value,
};

/** JSON.parse of V8 13 reads the last key of some of these as the key with a backslash that an object of the same shape had before. */
test.each(Object.entries(parsers))('%s reads escaped keys after similar ones with a backslash', (_, parse) => {
  const shapes = Array.from({ length: 50 }, (__, i) => `"shape${i}":1,`);
  for (const shape of shapes)
    for (const before of ['', 'x', 'k:{']) {
      // The only object of its shape so far, which leads the parser to expect the same key again.
      for (const key of [`${before}\\\\`, `${before}\\"`, `${before}\\n`, `${before}\\t"`.slice(0, -1)]) {
        const text = `{${shape}"${before}other":{${shape}"${key}":1}}`;
        const inner = (parse(text) as JsonObject | undefined)?.[`${before}other`] as JsonObject | undefined;
        if (inner === undefined) continue;
        expect(Object.keys(inner).at(-1)).toBe(JSON.parse(`"${key}"`));
      }
    }
});

test('deep values with an escaped key', () => {
  const text = `{"a\\"b":${'[{"c":'.repeat(4_900)}1${'}]'.repeat(4_900)}}`;
  expect(Object.keys(parseJson(text) as JsonObject)).toEqual(['a"b']);
  expect(Object.keys(parseWritten(text) as JsonObject)).toEqual(['a"b']);
});
