import type { KubeObject } from '../../apimachinery/meta/meta.js';
import { fakeAttributes } from '../../../test/fakes/admission/attributes.js';
import { admissionChain } from '../chain.js';
import { persistentVolumeClaimResize } from './claim-resize.js';

const claim = (storage: string, phase: string): KubeObject => ({
  metadata: { name: 'c' },
  spec: { resources: { requests: { storage } } },
  status: { phase },
});

const chain = admissionChain([persistentVolumeClaimResize()]);

async function update(now: string, before: string, phase: string, subresource = ''): Promise<void> {
  const given = { plural: 'persistentvolumeclaims', operation: 'UPDATE' as const, subresource };
  await chain.validate(fakeAttributes({ ...given, object: claim(now, phase), oldObject: claim(before, phase) }));
}

test('claims may keep their size, and shrink', async () => {
  await expect(update('1Gi', '1024Mi', 'Bound')).resolves.toBeUndefined();
  await expect(update('1Gi', '2Gi', 'Bound')).resolves.toBeUndefined();
  await expect(update('3Gi', '2Gi', 'Bound', 'status')).resolves.toBeUndefined();
});

test('claims do not grow', async () => {
  await expect(update('2Gi', '1Gi', 'Pending')).rejects.toThrow(
    'persistentvolumeclaims "c" is forbidden: Only bound persistent volume claims can be expanded',
  );
  await expect(update('2Gi', '1Gi', 'Bound')).rejects.toThrow('only dynamically provisioned pvc can be resized');
});
