import type { AdmissionAttributes, AdmissionOperation } from '../../../admission/interfaces.js';
import type { JsonObject } from '../../../apimachinery/json/json.js';
import type { KubeObject } from '../../../apimachinery/meta/meta.js';
import { admissionVersions } from '../../../registry/generic/admission-versions.js';
import type { RequestScope } from '../../router/scope.js';

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
  return {
    operation,
    kind: served.gvk,
    resource: { group, version: served.version.name, resource },
    subresource: scope.subresource,
    namespace: served.type.isNamespace === true ? name : context.info.namespace,
    name,
    object,
    oldObject,
    options,
    dryRun: context.dryRun,
    user: context.user,
    cancellation: context.cancellation,
    // Not a getter, because defining one costs more than everything else here.
    signal: () => context.signal,
    deadline: context.deadline,
    versions: admissionVersions(served, scope.subresource),
    warn: (text) => context.warn(text),
    annotate: (key, value, level) => context.annotate(key, value, level),
    recordWebhookDuration: (layer, millis) => context.recordWebhookDuration?.(layer, millis),
  };
}
