import type { KubeObject } from '../../apimachinery/meta/meta.js';
import { fakeAttributes } from '../../../test/fakes/admission/attributes.js';
import { persistentVolumeClaimResize } from './claim-resize.js';

const claim = (storage: string, phase: string): KubeObject => ({
  metadata: { name: 'c' },
  spec: { resources: { requests: { storage } } },
  status: { phase },
});

function update(now: string, before: string, phase: string, subresource = ''): void {
  const given = { plural: 'persistentvolumeclaims', operation: 'UPDATE' as const, subresource };
  void persistentVolumeClaimResize().validate?.(
    fakeAttributes({ ...given, object: claim(now, phase), oldObject: claim(before, phase) }),
  );
}

test('claims may keep their size, and shrink', () => {
  update('1Gi', '1024Mi', 'Bound');
  update('1Gi', '2Gi', 'Bound');
  update('3Gi', '2Gi', 'Bound', 'status');
});

test('claims do not grow', () => {
  expect(() => {
    update('2Gi', '1Gi', 'Pending');
  }).toThrow('persistentvolumeclaims "c" is forbidden: Only bound persistent volume claims can be expanded');
  expect(() => {
    update('2Gi', '1Gi', 'Bound');
  }).toThrow('only dynamically provisioned pvc can be resized');
});
