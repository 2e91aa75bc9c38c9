import { ChangeBatches } from './change-batches.js';
import type { Change } from './collection.js';

const change = (name: string, type: Change['type'] = 'MODIFIED'): Change => ({ type, object: { metadata: { name } } });

function setUp(apply: (names: string[]) => Promise<void>) {
  const applied: number[] = [];
  const batches = new ChangeBatches({
    keyOf: ({ object }) => object.metadata.name ?? '',
    apply: (changes) => apply(changes.map(({ type, object }) => `${type} ${object.metadata.name ?? ''}`)),
    onApplied: (revision) => void applied.push(revision),
  });
  return { applied, batches };
}

test('changes that arrive during an apply form the next batch, with only the last change of each object', async () => {
  const calls: string[][] = [];
  let release: () => void = () => undefined;
  const held = new Promise<void>((resolve) => (release = resolve));
  const { applied, batches } = setUp(async (names) => {
    calls.push(names);
    await held;
  });
  await batches.take(change('a'), 1);
  await batches.take(change('a'), 2);
  await batches.take(change('b'), 3);
  await batches.take(change('a', 'DELETED'), 4);
  await batches.take(change('', 'BOOKMARK'), 9);
  expect([batches.size, applied]).toEqual([2, []]);
  release();
  await batches.idle();
  expect(calls).toEqual([['MODIFIED a'], ['DELETED a', 'MODIFIED b']]);
  expect(applied).toEqual([9]);
});

test('a failure is returned to later callers, and nothing counts as applied', async () => {
  const { applied, batches } = setUp(() => Promise.reject(new Error('no')));
  await batches.take(change('a'), 1);
  await expect(batches.idle()).rejects.toThrow('no');
  await expect(batches.take(change('b'), 2)).rejects.toThrow('no');
  expect(applied).toEqual([]);
});
