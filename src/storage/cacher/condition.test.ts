import { EVERYTHING, type SelectionPredicate } from '../../apimachinery/selectors/selection-predicate.js';
import { withCondition } from './condition.js';
import type { CachedObject } from './interfaces.js';

const object = (size: number, undecodable = false) =>
  ({ undecodable, decode: () => ({ size }) }) as unknown as CachedObject;

const large = { id: 'large', matches: (of: CachedObject) => Number(of.decode()['size']) > 5 };
const red: SelectionPredicate = {
  everything: false,
  matches: (labels) => labels?.['colour'] === 'red',
  id: 'red',
  name: 'a',
  namespace: 'ns',
  label: { key: 'colour', value: 'red' },
};

test.each<[string, SelectionPredicate, Record<string, string>, CachedObject, boolean]>([
  ['an object that meets it', EVERYTHING, {}, object(9), true],
  ['an object that does not', EVERYTHING, {}, object(1), false],
  ['an object that the selectors match', red, { colour: 'red' }, object(9), true],
  ['an object that the selectors do not match', red, { colour: 'blue' }, object(9), false],
  ['an object that cannot be decoded', EVERYTHING, {}, object(9, true), false],
])('a condition on %s', (_name, selectors, labels, given, expected) => {
  expect(withCondition(selectors, large).matches(labels, {}, given)).toBe(expected);
});

test('what indexes use of the selectors is kept', () => {
  const { everything, name, namespace, label } = withCondition(red, large);
  expect({ everything, name, namespace, label }).toEqual({
    everything: false,
    name: 'a',
    namespace: 'ns',
    label: red.label,
  });
});

test('equal ids mean equal predicates', () => {
  const ids = [
    withCondition(EVERYTHING, large),
    withCondition(red, large),
    withCondition(red, { ...large, id: 'small' }),
    withCondition(withCondition(red, large), { ...large, id: 'small' }),
  ].map(({ id }) => id);
  expect(new Set(ids).size).toBe(ids.length);
  expect(withCondition(red, large).id).toBe(ids[1]);
  expect(withCondition({ ...red, id: undefined }, large).id).toBeUndefined();
  expect(withCondition(red, { ...large, id: undefined }).id).toBeUndefined();
  expect(withCondition(red, { ...large, id: 'x'.repeat(5000) }).id).toBeUndefined();
});
