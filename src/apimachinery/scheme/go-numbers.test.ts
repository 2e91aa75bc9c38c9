import { Float, type JsonObject, type JsonValue } from '../json/json.js';
import { builtinSchema } from './builtin-schema.js';
import { conversionError } from './convert.js';
import { convertNumbers } from './go-numbers.js';

const float = (value: number): number => new Float(value) as unknown as number;
const schemaOf = (kind: string): ReturnType<typeof builtinSchema> => builtinSchema({ group: '', version: 'v1', kind });
const pod = schemaOf('Pod')!;
const secret = schemaOf('Secret')!;
const port = (hostPort: JsonValue): JsonObject => ({ spec: { containers: [{ name: 'c', ports: [{ hostPort }] }] } });

test.each<[JsonValue, JsonValue]>([
  [80, 80],
  [float(80), 80],
  [float(-0), 0],
  [2147483648, -2147483648],
  [4294967297, 1],
  [2n ** 53n + 1n, 1],
  [1e300, 0],
  [-1e300, 0],
  [1.5, 1.5],
  ['80', '80'],
  [null, null],
])('%p in a 32-bit field becomes %p', (given, stored) => {
  expect(convertNumbers(pod.type, port(given))).toEqual(port(stored));
});

test.each<[JsonValue, JsonValue]>([
  [float(5), 5],
  [2n ** 62n, 2n ** 62n],
  [2 ** 62, 2n ** 62n],
  [2 ** 63, -(2n ** 63n)],
  [-1e300, -(2n ** 63n)],
  [0.5, 0.5],
])('%p in a 64-bit field becomes %p', (given, stored) => {
  expect(convertNumbers(pod.type, { spec: { priorityx: float(1), activeDeadlineSeconds: given } })).toEqual({
    spec: { priorityx: float(1), activeDeadlineSeconds: stored },
  });
});

test('types with their own decoder read whole floats as integers', () => {
  const volumes = (size: JsonValue): JsonObject => ({ spec: { volumes: [{ emptyDir: { sizeLimit: size } }] } });
  expect(convertNumbers(pod.type, volumes(float(1000)))).toEqual(volumes(1000));
  expect(convertNumbers(secret.type, { data: { a: [float(1), 257] } })).toEqual({ data: { a: [1, 1] } });
});

test('an object without such numbers is returned itself', () => {
  const object = port(80);
  expect(convertNumbers(pod.type, object)).toBe(object);
});

test.each<[JsonObject, string | undefined]>([
  [port(float(80)), undefined],
  [port(1e300), undefined],
  [port(1.5), 'cannot convert float64 to int32'],
  [{ metadata: { labels: { a: 1 } } }, 'cannot convert int64 to string'],
  [{ metadata: { labels: { a: float(1) } } }, 'unrecognized type: string'],
  [{ spec: { hostNetwork: float(1) } }, 'unrecognized type: bool'],
  [{ spec: { overhead: { cpu: float(1) } } }, undefined],
  [{ spec: float(1) }, 'cannot restore struct from: float64'],
  [{ metadata: { finalizers: float(1) } }, 'cannot restore slice from float64'],
])('conversion of %j', (object, message) => {
  expect(conversionError(pod.type, object)).toBe(message);
});

test('a merged object is stored with converted integers', () => {
  const { spec } = pod.normalize({ spec: { priority: 2147483648, activeDeadlineSeconds: 1e18 } });
  expect(spec).toMatchObject({ priority: -2147483648, activeDeadlineSeconds: 10n ** 18n });
});
