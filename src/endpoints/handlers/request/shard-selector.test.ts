import * as fc from 'fast-check';
import { EVERYTHING, SHARD_UID } from '../../../apimachinery/selectors/selection-predicate.js';
import { withShard } from './shard-selector.js';

/** The 64-bit FNV-1a hash, in the plainest form. */
function hashOf(text: string): bigint {
  let hash = 0xcbf29ce484222325n;
  for (const byte of Buffer.from(text)) hash = ((hash ^ BigInt(byte)) * 0x100000001b3n) & 0xffffffffffffffffn;
  return hash;
}

const hex = (bound: bigint): string => `0x${bound.toString(16).padStart(16, '0')}`;
const range = (start: bigint, end: bigint, field = 'object.metadata.uid'): string =>
  `shardRange(${field}, '${hex(start)}', '${hex(end)}')`;
const END = 2n ** 64n;

test('an object is in the shard of its hash, and in no other', () => {
  const bounds = fc.tuple(fc.bigInt(1n, END - 1n), fc.string());
  fc.assert(
    fc.property(bounds, ([middle, uid]) => {
      const matches = (text: string): boolean => withShard(EVERYTHING, text).matches(undefined, { [SHARD_UID]: uid });
      expect(matches(range(0n, middle))).toBe(hashOf(uid) < middle);
      expect(matches(range(middle, END))).toBe(hashOf(uid) >= middle);
      expect(matches(`${range(0n, middle)} || ${range(middle, END)}`)).toBe(true);
    }),
  );
});

test('the bounds of a range are in it and beyond it', () => {
  const own = hashOf('a');
  const fields = { 'metadata.namespace': 'a' };
  const matches = (start: bigint, end: bigint): boolean =>
    withShard(EVERYTHING, range(start, end, 'object.metadata.namespace')).matches(undefined, fields);
  expect([matches(own, own + 1n), matches(own + 1n, END), matches(0n, own)]).toEqual([true, false, false]);
});

test('selections of different shards have different ids', () => {
  const id = (text: string): string | undefined => withShard(EVERYTHING, text).id;
  expect(id(range(0n, 5n))).not.toBe(id(range(0n, 6n)));
  expect(withShard({ everything: false, matches: () => true }, range(0n, 5n)).id).toBeUndefined();
});
