import { NEVER_ABORTED } from '../../../src/util/never-aborted.js';
import type { AdmissionAttributes } from '../../../src/admission/interfaces.js';

/** Returns the attributes of the creation of a core object, overridden by `given`. */
export function fakeAttributes(
  given: Partial<AdmissionAttributes> & { readonly plural?: string },
): AdmissionAttributes {
  const { plural = 'configmaps', ...rest } = given;
  return {
    operation: 'CREATE',
    kind: { group: '', version: 'v1', kind: 'ConfigMap' },
    resource: { group: '', version: 'v1', resource: plural },
    subresource: '',
    namespace: 'ns',
    name: '',
    object: undefined,
    oldObject: undefined,
    options: {},
    dryRun: false,
    user: { name: 'someone', uid: '', groups: [], extra: {} },
    signal: () => NEVER_ABORTED,
    cancellation: NEVER_ABORTED,
    warn: () => undefined,
    annotate: () => undefined,
    ...rest,
  };
}
