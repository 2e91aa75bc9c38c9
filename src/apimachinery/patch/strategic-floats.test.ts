import { isObject, type JsonObject } from '../json/json.js';
import { goFormat } from '../json/go-format.js';
import { builtinSchema } from '../scheme/builtin-schema.js';
import { applyStrategicMergePatch, decodeStrategicMergePatch } from './strategic-merge.js';

const pod = builtinSchema({ group: '', version: 'v1', kind: 'Pod' })!;
const current: JsonObject = { spec: { containers: [{ name: 'c', ports: [{ containerPort: 80, name: 'old' }] }] } };
const patched = (ports: string): string => {
  const { patch } = decodeStrategicMergePatch(`{"spec":{"containers":[{"name":"c","ports":${ports}}]}}`, true);
  const { spec } = applyStrategicMergePatch(current, patch, pod.type);
  const [container] = (isObject(spec) ? spec['containers'] : []) as JsonObject[];
  return goFormat(container?.['ports']);
};

test.each([
  ['[{"containerPort":80,"name":"new"}]', '[map[containerPort:80 name:new]]'],
  ['[{"containerPort":80.0,"name":"new"}]', '[map[containerPort:80 name:new] map[containerPort:80 name:old]]'],
  ['[{"containerPort":8e1,"$patch":"delete"}]', '[map[containerPort:80 name:old]]'],
])('a float merge key does not match an integer: %s', (ports, merged) => {
  expect(patched(ports)).toBe(merged);
});

test('equal floats are the same merge key', () => {
  const { patch } = decodeStrategicMergePatch(
    '{"spec":{"containers":[{"name":"c","ports":[{"containerPort":81.0,"name":"a"},{"containerPort":8.1e1,"name":"b"}]}]}}',
    true,
  );
  const { spec } = applyStrategicMergePatch(current, patch, pod.type);
  expect(goFormat(spec)).toContain('map[containerPort:81 name:b]');
});

test('floats are printed as floats', () => {
  expect(goFormat(decodeStrategicMergePatch('{"a":1e6,"b":1000000,"c":-0.0}', true).patch)).toBe(
    'map[a:1e+06 b:1000000 c:-0]',
  );
});
