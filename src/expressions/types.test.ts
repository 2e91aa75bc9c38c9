import { kubernetesEnvironment, types } from '@annex/cel';
import { compileExpression, evaluateExpression } from './expression.js';
import { PER_CALL_LIMIT } from './limits.js';
import { ObjectType } from './types.js';

const schema = {
  type: 'object',
  properties: { spec: { type: 'object', properties: { names: { type: 'array', items: { type: 'string' } } } } },
};
const type = new ObjectType('Widget', schema);
const environment = type.within(kubernetesEnvironment('stored'), 'object');
const compile = (source: string): ReturnType<typeof compileExpression> =>
  compileExpression(environment, source, [types.BOOL]);

describe('expressions over an object of a schema', () => {
  test('see its fields and its metadata', () => {
    const object = type.valueOf({ metadata: { name: 'a' }, spec: { names: ['b'] } });
    const { value, cost } = evaluateExpression(compile('object.spec.names[0] > object.metadata.name'), { object });
    expect({ value, cost }).toEqual({ value: true, cost: 8 });
  });

  test('do not compile with a field that the schema does not declare, nor with another result', () => {
    expect(compile('object.spec.size > 1').error).toBe(
      "compilation failed: ERROR: <input>:1:12: undefined field 'size'\n | object.spec.size > 1\n | ...........^",
    );
    expect(compile('object.spec.names').error).toBe('must evaluate to bool but got list(string)');
  });

  test('end at the cost of a call; the maximum is estimated from the schema', () => {
    const expression = compile('object.spec.names.all(a, object.spec.names.all(b, a == b || true))');
    const object = type.valueOf({ spec: { names: Array.from({ length: 1000 }, () => 'x') } });
    const { error, cost } = evaluateExpression(expression, { object });
    expect(error).toContain('operation cancelled: actual cost limit exceeded');
    expect(cost).toBeGreaterThan(PER_CALL_LIMIT);
    expect(type.costOf(expression.checked ?? fail()).max).toBeGreaterThan(1e10);
  });
});

function fail(): never {
  throw new Error('does not compile');
}
