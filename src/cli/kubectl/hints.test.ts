import type { JsonObject } from '../../apimachinery/json/json.js';
import { Fields } from './fields.js';
import { distanceOf, meantBy } from './hints.js';

const text: JsonObject = { type: 'string' };
const result = { type: 'object', properties: { policy: text, 'rule-name': text } };
const root: JsonObject = {
  properties: {
    metadata: { allOf: [{ $ref: '#/components/schemas/Meta' }] },
    summary: { type: 'object', properties: { fail: { type: 'integer' }, pass: { type: 'integer' } } },
    results: { type: 'array', items: { $ref: '#/components/schemas/Result' } },
    namespace: text,
  },
};
const fields = new Fields(root, { Meta: { properties: { name: text } }, Result: result });

test.each([
  ['sumary', 'object.sumary.fail', 'object.summary'],
  ['fial', 'object.summary.fial > 0', 'object.summary.fail'],
  ['fial', 'object.?summary.?fial', 'object.?summary.fail'],
  ['fail', 'object.summary.fail > 0 || object.fail > 0', 'object.summary.fail'],
  ['nmae', 'object.metadata.nmae', 'object.metadata.name'],
  ['polcy', 'object.results.exists(r, r.polcy == "")', 'r.policy'],
  ['rulename', 'object.?results.orValue([]).all(r, has(r.rulename))', 'r.rule__dash__name'],
  ['polici', 'object.results[0].polici', 'object.results[0].policy'],
  ['unlike', 'object.unlike', undefined],
])('the undefined field %s in %s', (field, expression, meant) => {
  const message = `where: compilation failed: ERROR: <input>:1:7: undefined field '${field}'`;
  expect(meantBy(message, expression, fields)).toBe(meant);
});

test.each([
  ['obejct', 'object'],
  ['summary', 'object.summary'],
  ['sumary', 'object.summary'],
  ['policies', undefined],
  ['pass', 'object.summary.pass'],
])('an undeclared reference to %s', (name, meant) => {
  expect(meantBy(`where: ERROR: <input>:1:1: undeclared reference to '${name}' (in container '')`, name, fields)).toBe(
    meant,
  );
});

test('other errors have no hint', () => {
  expect(meantBy("where: found no matching overload for '_==_'", 'object.a == 1', fields)).toBeUndefined();
});

test.each([
  ['', 'abc', 3],
  ['abc', 'abc', 0],
  ['fial', 'fail', 1],
  ['sumary', 'summary', 1],
  ['kitten', 'sitting', 3],
])('%s and %s differ by %i', (a, b, distance) => {
  expect([distanceOf(a, b), distanceOf(b, a)]).toEqual([distance, distance]);
});
