import { TestChain } from '../../../test/fakes/endpoints/handler-chain.js';

test('an annotation of the audit event keeps its first value', () => {
  const { exchange } = new TestChain().start();
  const conflicts: string[][] = [];
  exchange.onConflict = (...reported) => conflicts.push(reported);
  exchange.annotate('a', '1');
  exchange.annotate('b', '1');
  exchange.annotate('a', '1');
  exchange.annotate('a', '2');
  expect(exchange.annotations).toEqual(
    new Map([
      ['a', '1'],
      ['b', '1'],
    ]),
  );
  expect(conflicts).toEqual([['id', 'a', '2', '1']]);
});
