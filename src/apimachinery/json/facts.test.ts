import { addFacts, deepCopy, deepEqual, FACTS, type JsonObject, stringifyJson } from './json.js';

const emptyMembers = { list: [] };
const made = (): JsonObject => {
  const inner: JsonObject = { b: 1 };
  addFacts(inner, { emptyMembers });
  const object: JsonObject = { a: [inner], c: {} };
  addFacts(object, { mutated: true });
  addFacts(object, { incomplete: true });
  return object;
};
const innerOf = (object: JsonObject): JsonObject => (object['a'] as JsonObject[])[0] ?? {};

test('copies carry the facts of an object and of its members', () => {
  for (const copy of [deepCopy(made()), { ...made() }, Object.assign({}, made())]) {
    expect(copy[FACTS]).toEqual({ mutated: true, incomplete: true });
    expect(innerOf(copy)[FACTS]).toEqual({ emptyMembers });
  }
});

test('facts added to a copy do not affect the original', () => {
  const object = made();
  const copy = deepCopy(object);
  addFacts(copy, { unpruned: true });
  expect([copy[FACTS]?.unpruned, object[FACTS]?.unpruned]).toEqual([true, undefined]);
});

test('facts are not members of the object', () => {
  const object = made();
  expect(stringifyJson(object)).toBe('{"a":[{"b":1}],"c":{}}');
  expect(deepEqual(object, { a: [{ b: 1 }], c: {} })).toBe(true);
  expect(Object.keys(object)).toEqual(['a', 'c']);
});
