import fc from 'fast-check';
import { inOrder } from './list-order.js';

/** The insertion sort of Go, whose result clients see: an element without a place is smaller than all before it. */
function insertionSort(places: readonly number[]): number[] {
  const out: number[] = [];
  places.forEach((at, i) => {
    let to = out.length;
    const before = (other: number): boolean => at < 0 || other < 0 || at < other;
    while (to > 0 && before(places[out[to - 1] ?? 0] ?? -1)) to--;
    out.splice(to, 0, i);
  });
  return out;
}

test('elements that the server and the order do not know are where an insertion sort puts them', () => {
  fc.assert(
    fc.property(fc.shuffledSubarray(['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h']), fc.nat(8), (items, known) => {
      const server = ['h', 'g', 'f', 'e', 'd', 'c', 'b', 'a'].slice(0, known);
      const places = items.map((item) => server.indexOf(item));
      const sorted = insertionSort(places).map((i) => items[i] ?? '');
      expect(inOrder(items, [], server, '')).toEqual(sorted);
    }),
  );
});
