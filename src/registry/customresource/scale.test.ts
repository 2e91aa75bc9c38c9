import { decodeDetailed } from '../../apimachinery/json/decode.js';
import { decodeScale } from './scale.js';

const decode = (text: string) => decodeScale(decodeDetailed(text, { strict: true }), true).object;

test('zero replicas are omitted in the spec, as in Go', () => {
  expect(decode('{"spec":{"replicas":0},"status":{"replicas":0}}')).toMatchObject({
    spec: {},
    status: { replicas: 0 },
  });
  expect(decode('{"spec":{"replicas":3}}')['spec']).toEqual({ replicas: 3 });
});

test('a number with a fraction is not an int32, regardless of its value', () => {
  expect(() => decode('{"spec":{"replicas":1.0}}')).toThrow(
    'json: cannot unmarshal number 1.0 into Go struct field ScaleSpec.spec.replicas of type int32',
  );
});
