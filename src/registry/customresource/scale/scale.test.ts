import { decodeDetailed } from '../../../apimachinery/json/decode.js';
import { decodeScale } from './scale.js';

const decode = (text: string) => decodeScale(decodeDetailed(text, { strict: true }), true).object;

test('replicas of nothing are left out, as Go leaves them out', () => {
  expect(decode('{"spec":{"replicas":0},"status":{"replicas":0}}')).toMatchObject({
    spec: {},
    status: { replicas: 0 },
  });
  expect(decode('{"spec":{"replicas":3}}')['spec']).toEqual({ replicas: 3 });
});

test('a fraction is no int32, whatever its value', () => {
  expect(() => decode('{"spec":{"replicas":1.0}}')).toThrow(
    'json: cannot unmarshal number 1.0 into Go struct field ScaleSpec.spec.replicas of type int32',
  );
});
