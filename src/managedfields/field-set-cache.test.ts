import { cacheBytes } from '../../test/fakes/util/cache-bytes.js';
import { decodeFieldSet } from './field-set-cache.js';

test('field sets are kept by bytes, and one beyond a 64th not at all', async () => {
  const long = { 'f:data': { [`f:${'x'.repeat(200_000)}`]: {} } };
  expect(decodeFieldSet(long)).not.toBe(decodeFieldSet(long));
  expect(await cacheBytes('field_sets')).toBe(0);
  for (let i = 0; i < 200; i++) decodeFieldSet({ 'f:data': { [`f:${String(i)}${'x'.repeat(100_000)}`]: {} } });
  const kept = (await cacheBytes('field_sets')) ?? NaN;
  expect(kept).toBeGreaterThan(32 << 20);
  expect(kept).toBeLessThanOrEqual(64 << 20);
});
