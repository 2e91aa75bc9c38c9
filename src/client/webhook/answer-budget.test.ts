import { AnswerBudget } from './answer-budget.js';

const MIB = 1 << 20;

test('a response is limited by its own length, and large ones together; small ones always fit', () => {
  const budget = new AnswerBudget(10 * MIB);
  const [first, second, small] = [budget.begin(8 * MIB), budget.begin(8 * MIB), budget.begin(8 * MIB)];
  first.check(8 * MIB);
  expect(() => first.check(8 * MIB + 1)).toThrow('the response exceeds 8388608 bytes');
  second.check(4 * MIB);
  expect(() => second.check(5 * MIB)).toThrow('other responses of webhooks take too much memory');
  small.check(MIB);
  first.release();
  second.check(8 * MIB);
  second.release();
  first.check(8 * MIB);
});
