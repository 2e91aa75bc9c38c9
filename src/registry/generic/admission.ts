import type { AdmissionAttributes, AdmissionChain, AdmissionOperation } from '../../admission/interfaces.js';
import { deepEqual, type JsonObject, type JsonValue } from '../../apimachinery/json/json.js';
import type { KubeObject } from '../../apimachinery/meta/meta.js';
import { validateManagedFields } from '../../managedfields/field-manager.js';
import type { RequestContext } from '../../request/context.js';
import { type MaybePromise, then } from '../../util/maybe-promise.js';
import type { ServedVersion } from '../rest/served.js';
import { admissionVersions } from './admission-versions.js';
import { dedupOwnerReferences } from './system-fields.js';

/** What a change does to an object, for admission. */
interface AdmittedChange {
  readonly operation: AdmissionOperation;
  readonly name: string;
  readonly object: KubeObject | undefined;
  readonly oldObject: KubeObject | undefined;
  readonly options: JsonObject;
}

/** Builds the admission attributes of a change of a served object, or of the subresource that the request names. */
export function admissionAttributes(
  context: RequestContext,
  served: Pick<ServedVersion, 'gvk' | 'version' | 'groupResource' | 'type' | 'admission'>,
  change: AdmittedChange,
): AdmissionAttributes {
  const { group, resource } = served.groupResource;
  const { subresource, namespace } = context.info;
  const { operation, name, object, oldObject, options } = change;
  return attributesOf(context, {
    operation,
    kind: served.gvk,
    resource: { group, version: served.version.name, resource },
    subresource,
    namespace: served.type.isNamespace === true ? name : namespace,
    name,
    object,
    oldObject,
    options,
    versions: admissionVersions(served, subresource),
  });
}

/** The attributes that do not follow from the context of a request. */
type Subject = Pick<
  AdmissionAttributes,
  | 'operation'
  | 'kind'
  | 'resource'
  | 'subresource'
  | 'namespace'
  | 'name'
  | 'object'
  | 'oldObject'
  | 'options'
  | 'versions'
>;

/** Completes the attributes of a change with those of the request that makes it. */
export const attributesOf = (context: RequestContext, subject: Subject): AdmissionAttributes => ({
  ...subject,
  dryRun: context.dryRun,
  user: context.user,
  cancellation: context.cancellation,
  // Not a getter, because defining one costs more than everything else here.
  signal: () => context.signal,
  deadline: context.deadline,
  warn: (text) => context.warn(text),
  annotate: (key, value, level) => context.annotate(key, value, level),
  recordWebhookDuration: (layer, millis) => context.recordWebhookDuration?.(layer, millis),
});

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
