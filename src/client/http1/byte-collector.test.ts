import fc from 'fast-check';
import { ByteCollector } from './byte-collector.js';

test('the text is the same however it is cut', () => {
  fc.assert(
    fc.property(fc.array(fc.tuple(fc.string({ maxLength: 9 }), fc.integer({ min: 1, max: 3000 }))), (parts) => {
      const collector = new ByteCollector();
      const texts = parts.map(([text, times]) => text.repeat(times));
      for (const text of texts) collector.add(Buffer.from(text));
      expect(collector.text()).toBe(texts.join(''));
    }),
    { numRuns: 50 },
  );
});

test('pieces of one byte are copied together, a single piece is not', () => {
  const collector = new ByteCollector();
  for (let i = 0; i < 1_000_000; i++) collector.add(Buffer.from('x'));
  expect(collector.length).toBe(1_000_000);
  expect(collector.kept).toBeLessThan(100);
  const concat = jest.spyOn(Buffer, 'concat');
  const single = new ByteCollector();
  single.add(Buffer.from('body'));
  expect(single.text()).toBe('body');
  expect(concat).not.toHaveBeenCalled();
  concat.mockRestore();
});
