import { type Answer, digText, treeOf } from '../client.js';
import { eventually } from '../server.js';
import { Stand, STORES } from './stand.js';

/** An expression that costs much on each object, but less than the limit. */
const DEAR = 'lists.range(300).all(a, lists.range(300).all(b, a + b >= 0)) && object.spec.size >= 0';

describe.each(STORES)('the bounds of where, %s', (store) => {
  const stand = new Stand(store, { requestTimeout: 2_000 });

  test('10,000 expressions are answered, counted, and kept only within the budget', async () => {
    for (let i = 0; i < 5; i++) await stand.create('n1', `b${String(i)}`, { size: i });
    const ask = async (i: number): Promise<void> => {
      const answer = await stand.get('boxes', {
        where: `object.spec.size >= ${String(i % 5)} && ${String(i)} >= 0`,
        limit: '1',
      });
      expect(answer.status).toBe(200);
    };
    for (let i = 0; i < 10_000; i += 50) await Promise.all(Array.from({ length: 50 }, (_, j) => ask(i + j)));
    const metrics = await stand.metrics();
    expect(metrics('annex_asking_evaluations_total{result="value"}')).toBeGreaterThanOrEqual(10_000);
    expect(metrics('annex_asking_cached_bytes')).toBeGreaterThan(0);
    expect(metrics('annex_asking_cached_bytes')).toBeLessThanOrEqual(metrics('annex_cache_derived_limit_bytes'));
    expect(metrics('annex_asking_evaluation_seconds_total')).toBeGreaterThan(0);
    expect(metrics('annex_asking_longest_evaluation_seconds')).toBeGreaterThan(0);
    await ask(9_999);
    expect((await stand.metrics())('annex_asking_cached_results_total')).toBeGreaterThan(0);
  });

  test('a list that takes longer than the timeout of requests ends with 504, and others are answered meanwhile', async () => {
    await Promise.all(Array.from({ length: 300 }, (_, i) => stand.create('n2', `x${String(i)}`, { size: i })));
    const dear = stand.get('boxes', { where: `${DEAR} && now > timestamp('2020-01-01T00:00:00Z')` });
    for (let i = 0; i < 5; i++) expect((await stand.get('boxes', { limit: '1' })).status).toBe(200);
    const answer = await dear;
    expect([answer.status, digText(treeOf(answer), 'reason')]).toEqual([504, 'Timeout']);
  });
});

describe('pages whose revision is compacted', () => {
  const stand = new Stand('embedded', { historyWindow: 500 });

  test.each([{ where: 'object.spec.size >= 0' }, { orderBy: 'object.spec.size desc' }])('%j: 410', async (asked) => {
    for (const [i, name] of ['a', 'b', 'c'].entries())
      await stand.create('n1', name, { size: i }).catch(() => undefined);
    const page = treeOf(await stand.get('boxes', { ...asked, limit: '1' }));
    const token = digText(page, 'metadata', 'continue');
    const next = (): Promise<Answer> => stand.get('boxes', { ...asked, limit: '1', continue: token });
    expect((await next()).status).toBe(200);
    let size = 10;
    const refused = await eventually('the revision is compacted', async () => {
      await stand.change('n1', 'a', { size: size++ });
      const answer = await next();
      return answer.status === 200 ? undefined : answer;
    });
    expect([refused.status, digText(treeOf(refused), 'reason')]).toEqual([410, 'Expired']);
  });
});
