import type { AdmissionAttributes, AdmissionChain } from '../../../admission/interfaces.js';
import { deepEqual, type JsonValue } from '../../../apimachinery/json/json.js';
import { validateManagedFields } from '../../../managedfields/field-manager.js';
import { dedupOwnerReferences } from '../../../registry/generic/system-fields.js';
import { type MaybePromise, then } from '../../../util/maybe-promise.js';

/**
 * Runs mutating admission on an object to be written. Changes to the managed fields are kept only if they are valid, and
 * duplicate owner references are removed.
 */
export function admitMutations(admission: AdmissionChain, attributes: AdmissionAttributes): MaybePromise<void> {
  if (!admission.mutates(attributes.operation)) return;
  const { object } = attributes;
  const before = object?.metadata.managedFields;
  const check = (): void => {
    if (object === undefined) return;
    const { metadata } = object;
    const after: JsonValue | undefined = metadata.managedFields;
    if (!deepEqual(after, before)) {
      const why = validateManagedFields(Array.isArray(after) ? after : undefined);
      if (why !== undefined) {
        if (before === undefined) delete metadata.managedFields;
        else metadata.managedFields = before;
        attributes.warn(
          `.metadata.managedFields was in an invalid state after admission; this could be caused by an outdated mutating admission controller; please fix your requests: ${why}`,
        );
      }
    }
    dedupOwnerReferences(object, (text) => attributes.warn(text), { afterAdmission: true });
  };
  return then(admission.admit(attributes), check);
}
