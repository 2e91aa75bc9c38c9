import type { KubeObject, ManagedFieldsEntry } from '../apimachinery/meta/meta.js';
import { FakeClock } from '../../test/fakes/util/clock.js';
import { createScaleFieldManager, ScaleManagedFields } from './scale.js';

const version = 'example.com/v1';
const paths = { [version]: ['spec', 'replicas'], 'example.com/v2': null };
const time = '2026-01-01T00:00:00Z';

const entry = (
  manager: string,
  fields: readonly string[],
  more: Partial<ManagedFieldsEntry> = {},
): ManagedFieldsEntry => ({
  manager,
  operation: 'Update',
  apiVersion: version,
  time,
  fieldsType: 'FieldsV1',
  fieldsV1: { 'f:spec': Object.fromEntries(fields.map((field) => [`f:${field}`, {}])) },
  ...more,
});
const parent = [
  entry('one', ['replicas', 'text'], { operation: 'Apply' }),
  entry('only', ['replicas']),
  entry('two', ['text'], { apiVersion: 'example.com/v2' }),
  entry('up', ['flag']),
];

test('the scale belongs to the managers of the replicas', () => {
  expect(new ScaleManagedFields(parent, version, paths).toScale()).toEqual([
    entry('one', ['replicas'], { operation: 'Apply', apiVersion: 'autoscaling/v1' }),
    entry('only', ['replicas'], { apiVersion: 'autoscaling/v1' }),
  ]);
});

test('a write to the scale takes over the replicas, without a time as in kube-apiserver', () => {
  const fields = new ScaleManagedFields(parent, version, paths);
  const manager = createScaleFieldManager(new FakeClock());
  const scale = (replicas: number): KubeObject => ({
    apiVersion: 'autoscaling/v1',
    kind: 'Scale',
    metadata: { name: 'a', uid: 'u' },
    spec: { replicas },
    status: { replicas: 0 },
  });
  const live = scale(1);
  live.metadata.managedFields = fields.toScale()!;
  const written = manager.update(live, scale(3), 'scaler').metadata.managedFields;
  expect(written?.map((e) => [e.manager, e.subresource, e.apiVersion])).toEqual([
    ['scaler', 'scale', 'autoscaling/v1'],
  ]);
  const { time: _time, ...untimed } = entry('scaler', ['replicas'], { subresource: 'scale' });
  expect(fields.toParent(written)).toEqual([
    entry('one', ['text'], { operation: 'Apply' }),
    untimed,
    entry('two', ['text'], { apiVersion: 'example.com/v2' }),
    entry('up', ['flag']),
  ]);
});

test('no manager takes over the replicas without a write', () => {
  const fields = new ScaleManagedFields(parent, version, paths);
  const same = fields
    .toScale()!
    .map((e) => (e.operation === 'Apply' ? e : undefined))
    .filter((e) => e !== undefined);
  expect(fields.toParent(same)?.map((e) => e.manager)).toEqual(['one', 'two', 'up']);
});

test('entries of removed versions are dropped', () => {
  const fields = new ScaleManagedFields(
    [...parent, entry('old', ['x'], { apiVersion: 'example.com/v0' })],
    version,
    paths,
  );
  expect(fields.toParent([])?.map((e) => e.manager)).toEqual(['one', 'two', 'up']);
});
