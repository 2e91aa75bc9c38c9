import { noteFloats } from '../../apimachinery/json/float.js';
import type { FloatLiterals } from '../../apimachinery/json/parser.js';
import type { KubeObject } from '../../apimachinery/meta/meta.js';
import type { RequestContext } from '../../request/context.js';
import type { Strategy } from '../rest/interfaces.js';
import type { ServedVersion } from '../rest/served.js';
import { beforeUpdate } from './before.js';

const strategy = {
  hasGeneration: true,
  validateUpdate: () => [],
} as unknown as Strategy;
const served = { type: { namespaced: false } } as unknown as ServedVersion;
const object = (value: number): KubeObject => ({
  apiVersion: 'v1',
  kind: 'A',
  metadata: { name: 'a', uid: 'u', resourceVersion: '1', generation: 3 },
  spec: { value },
});

test.each<[number, string | undefined, number]>([
  [1, undefined, 3],
  [2, undefined, 4],
  [1, '1.0', 4],
])('the generation follows a value of %d written as %p', (value, literal, generation) => {
  const next = object(value);
  const floats: FloatLiterals = new Map();
  if (literal !== undefined) floats.set(next['spec'] as KubeObject, new Map([['value', literal]]));
  noteFloats(next, floats);
  beforeUpdate({} as RequestContext, served, strategy, '', next, object(1));
  expect(next.metadata.generation).toBe(generation);
});
