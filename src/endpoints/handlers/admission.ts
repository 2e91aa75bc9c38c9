import type { RequestContext } from '../../request/context.js';
import type { AdmissionAttributes, AdmissionChain, AdmissionOperation } from '../../admission/interfaces.js';
import { deepEqual, type JsonObject, type JsonValue } from '../../apimachinery/json/json.js';
import type { KubeObject } from '../../apimachinery/meta/meta.js';
import { validateManagedFields } from '../../managedfields/field-manager.js';
import { admissionVersions } from '../../registry/generic/admission-versions.js';
import { dedupOwnerReferences } from '../../registry/generic/system-fields.js';
import { type MaybePromise, then } from '../../util/maybe-promise.js';
import type { RequestScope } from '../router/scope.js';
import { Query } from './request/query.js';
import { dryRunValues } from './request/write-options.js';

const META = 'meta.k8s.io/v1';

/** Returns the options of a create or an update for admission, with the values that the client set. */
export function admissionOptions(
  { request }: Pick<RequestScope, 'request'>,
  operation: 'CREATE' | 'UPDATE',
): JsonObject {
  const url = request.url ?? '';
  const kind = operation === 'CREATE' ? 'CreateOptions' : 'UpdateOptions';
  const options: JsonObject = { kind, apiVersion: META };
  if (!url.includes('?')) return options;
  const query = new Query(url);
  const dryRun = dryRunValues(query);
  if (dryRun.length > 0) options['dryRun'] = [...dryRun];
  for (const field of ['fieldManager', 'fieldValidation']) {
    const value = query.string(field);
    if (value !== '') options[field] = value;
  }
  return options;
}

/** Builds the admission attributes of a change. */
export function admissionAttributes(
  scope: RequestScope,
  operation: AdmissionOperation,
  name: string,
  object: KubeObject | undefined,
  oldObject: KubeObject | undefined,
  options: JsonObject,
): AdmissionAttributes {
  const { context, served } = scope;
  const { group, resource } = served.groupResource;
  return attributesOf(context, {
    operation,
    kind: served.gvk,
    resource: { group, version: served.version.name, resource },
    subresource: scope.subresource,
    namespace: served.type.isNamespace === true ? name : context.info.namespace,
    name,
    object,
    oldObject,
    options,
    versions: admissionVersions(served, scope.subresource),
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
