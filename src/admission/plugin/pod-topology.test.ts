import type { KubeObject } from '../../apimachinery/meta/meta.js';
import { fakeAttributes } from '../../../test/fakes/admission/attributes.js';
import { fakeReader } from '../../../test/fakes/admission/object-reader.js';
import { podTopologyLabels } from './pod-topology.js';

const zone = 'topology.kubernetes.io/zone';
const plugin = podTopologyLabels(fakeReader({ metadata: { name: 'n', labels: { [zone]: 'z', other: 'x' } } }));

function labelsOf(nodeName: string, labels?: Record<string, string>): unknown {
  const object: KubeObject = { metadata: { name: 'p', ...(labels && { labels }) }, spec: { nodeName } };
  void plugin.admit?.(fakeAttributes({ plural: 'pods', object }));
  return object.metadata.labels;
}

test('a pod gets the topology labels of its node, which override its own', () => {
  expect(labelsOf('n')).toEqual({ [zone]: 'z' });
  expect(labelsOf('n', { [zone]: 'y', a: 'b' })).toEqual({ [zone]: 'z', a: 'b' });
});

test('a pod without a node, or on a node that does not exist, is unchanged', () => {
  expect(labelsOf('')).toBeUndefined();
  expect(labelsOf('none', { a: 'b' })).toEqual({ a: 'b' });
});
