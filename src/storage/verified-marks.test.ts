import { MemoryBackend, MemoryData } from '../../test/fakes/storage/memory-backend.js';
import type { Staging } from './interfaces.js';
import { layered } from './layered.js';
import { forgettingMarks, VerifiedMarks } from './verified-marks.js';

const backend = new MemoryBackend();
const marks = new VerifiedMarks(backend, '1');
beforeAll(() => backend.open());
afterAll(() => backend.close());

test('a mark is about one form of one type, and never goes back', async () => {
  const [form, other] = [marks.digest(['a']), marks.digest(['b'])];
  await marks.record('widgets.a.b', form, 7);
  await marks.record('widgets.a.b', form, 5);
  expect(await marks.upTo('widgets.a.b', form)).toBe(7);
  expect(await marks.upTo('widgets.a.b', other)).toBeUndefined();
  expect(await marks.upTo('gadgets.a.b', form)).toBeUndefined();
  await marks.record('widgets.a.b', other, 9);
  expect([await marks.upTo('widgets.a.b', form), await marks.upTo('widgets.a.b', other)]).toEqual([undefined, 9]);
});

test('another version of Annex has other forms', () => {
  expect(new VerifiedMarks(backend, '2').digest(['a'])).not.toBe(marks.digest(['a']));
});

test('a copy that is installed ends the mark first', async () => {
  const form = marks.digest(['a']);
  await marks.record('copied.a.b', form, 7);
  const seen: unknown[] = [];
  const staging = {
    copy: () =>
      ({
        install: async () => void seen.push(await marks.upTo('copied.a.b', form)),
      }) as Partial<Staging> as Staging,
  };
  const over = forgettingMarks(layered(backend, { staging }), marks);
  await over.staging?.copy('x').install('copied.a.b');
  expect(seen).toEqual([undefined]);
  await over.staging?.copy('x').install('never-marked.a.b');
});

test('whatever is stored under the name of a mark and is none proves nothing', async () => {
  const data = new MemoryData();
  const store = new MemoryBackend({ data });
  await store.open();
  const form = marks.digest(['a']);
  const stored = new VerifiedMarks(store, '1');
  await stored.record('widgets.a.b', form, 7);
  const [type] = data.types.values();
  const [key, object] = [...(type?.entries() ?? [])][0] ?? [];
  if (type === undefined || key === undefined || object === undefined) throw new Error('no mark');
  type.set(key, { ...object, bytes: Buffer.from('{"upTo":"x"') });
  expect(await stored.upTo('widgets.a.b', form)).toBeUndefined();
  await stored.record('widgets.a.b', form, 8);
  expect(await stored.upTo('widgets.a.b', form)).toBe(8);
  await store.close();
});
