import { inLayers, type OrderedObject } from './order.js';

const object = (uid: string, ...owners: string[]): OrderedObject => ({ uid, owners });
const layersOf = (objects: readonly OrderedObject[]): string[] =>
  inLayers(objects, new Set(objects.map(({ uid }) => uid))).map((layer) => layer.map(({ uid }) => uid).join(' '));

test.each<[string, readonly OrderedObject[], readonly string[]]>([
  ['owners come before what they own', [object('c', 'b'), object('b', 'a'), object('a')], ['a', 'b', 'c']],
  ['an object waits for all its owners', [object('a'), object('b', 'a', 'c'), object('c', 'a')], ['a', 'c', 'b']],
  ['owners outside the set do not matter', [object('a', 'elsewhere'), object('b', 'elsewhere')], ['a b']],
  ['a circle comes last, together', [object('a', 'b'), object('b', 'a'), object('c')], ['c', 'a b']],
  ['an object that owns itself does not wait', [object('a', 'a')], ['a']],
  ['nothing has no layers', [], []],
])('%s', (_what, objects, layers) => {
  expect(layersOf(objects)).toEqual(layers);
});
