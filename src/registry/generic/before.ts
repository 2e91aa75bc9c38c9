import { newInvalid } from '../../apimachinery/meta/errors.js';
import type { FieldError } from '../../apimachinery/meta/field-error.js';
import { withFloats } from '../../apimachinery/json/float.js';
import { deepEqual } from '../../apimachinery/json/json.js';
import { type KubeObject, parseGroupVersion, scopeOf } from '../../apimachinery/meta/meta.js';
import { nameIsPathSegment } from '../../apimachinery/validation/names.js';
import { validateObjectMeta, validateObjectMetaUpdate } from '../../apimachinery/validation/object-meta.js';
import type { RequestContext } from '../../request/context.js';
import type { Strategy } from '../rest/interfaces.js';
import type { ServedVersion } from '../rest/served.js';
import { ensureNamespace } from './identity.js';

/** Prepares and validates an object for creation (apiserver, registry/rest BeforeCreate). */
export function beforeCreate(
  context: RequestContext,
  served: ServedVersion,
  strategy: Strategy,
  namespace: string,
  object: KubeObject,
): void {
  ensureNamespace(served.type.namespaced ? namespace : '', object.metadata);
  strategy.prepareForCreate?.(context, object);
  if (strategy.hasGeneration === true) object.metadata.generation = 1;
  throwIfInvalid(served, object, distinct(served, strategy.validateCreate(context, object)));
  throwIfInvalid(served, object, validateObjectMeta(object.metadata, scopeOf(served.type), nameIsPathSegment));
  for (const text of strategy.warningsOnCreate?.(context, object) ?? []) context.warn(text);
  strategy.canonicalize?.(object);
}

/** Prepares and validates an object for update (apiserver, registry/rest BeforeUpdate). `old` is not modified. */
export function beforeUpdate(
  context: RequestContext,
  served: ServedVersion,
  strategy: Strategy,
  namespace: string,
  object: KubeObject,
  old: KubeObject,
): void {
  ensureNamespace(served.type.namespaced ? namespace : '', object.metadata);
  const meta = object.metadata;
  if (old.metadata.generation === undefined) delete meta.generation;
  else meta.generation = old.metadata.generation;
  strategy.prepareForUpdate?.(context, object, old);
  if (strategy.hasGeneration === true && !sameSpec(object, old)) {
    object.metadata.generation = (old.metadata.generation ?? 0) + 1;
  }
  keepSystemFields(object, old);
  // Read metadata again: the strategy may have replaced it.
  const errors = [
    ...validateObjectMeta(object.metadata, scopeOf(served.type), nameIsPathSegment),
    ...validateObjectMetaUpdate(object.metadata, old.metadata),
    ...strategy.validateUpdate(context, object, old),
  ];
  throwIfInvalid(served, object, distinct(served, errors));
  for (const text of strategy.warningsOnUpdate?.(context, object, old) ?? []) context.warn(text);
  strategy.canonicalize?.(object);
}

/** Reports whether two objects are equal apart from metadata and status. A float in place of an integer is a difference. */
function sameSpec(object: KubeObject, old: KubeObject): boolean {
  const { metadata: _a, status: _s, ...rest } = withFloats(object);
  const { metadata: _b, status: _t, ...oldRest } = old;
  return deepEqual(rest, oldRest);
}

/** Restores the metadata set by the server where an update changed or dropped it. */
function keepSystemFields(object: KubeObject, old: KubeObject): void {
  const meta = object.metadata;
  const was = old.metadata;
  if ((meta.uid === undefined || meta.uid === '') && was.uid !== undefined) meta.uid = was.uid;
  if (was.creationTimestamp !== undefined && was.creationTimestamp !== null) {
    meta.creationTimestamp = was.creationTimestamp;
  }
  if (was.deletionTimestamp !== undefined && was.deletionTimestamp !== null) {
    meta.deletionTimestamp = was.deletionTimestamp;
  }
  if (was.deletionGracePeriodSeconds !== undefined && meta.deletionGracePeriodSeconds === undefined) {
    meta.deletionGracePeriodSeconds = was.deletionGracePeriodSeconds;
  }
}

/**
 * Returns the group named in validation errors: that of the object's own apiVersion for a custom resource, that of the stored form
 * for a built-in type.
 */
function groupOf(served: ServedVersion, object: KubeObject): string {
  const { custom, storedAs, group } = served.type;
  if (custom) return object.apiVersion === undefined ? group : (parseGroupVersion(object.apiVersion)?.group ?? '');
  if (storedAs === undefined) return group;
  const [, ...rest] = storedAs.resource.split('.');
  return rest.join('.');
}

/** The groups of types that kube-apiserver serves without declarative validation. */
const WITHOUT_DECLARATIVE = new Set(['apiextensions.k8s.io', 'apiregistration.k8s.io', 'kubeannex.io']);

/**
 * Drops errors that are found twice, by the strategy and by the common validation. kube-apiserver drops them where it validates
 * declaratively, too, which is in all of its own types.
 */
function distinct({ type }: ServedVersion, errors: readonly FieldError[]): readonly FieldError[] {
  if (errors.length < 2 || type.custom || WITHOUT_DECLARATIVE.has(type.group)) return errors;
  return [...new Map(errors.map((error) => [String(error), error])).values()];
}

function throwIfInvalid(served: ServedVersion, object: KubeObject, errors: readonly FieldError[]): void {
  if (errors.length === 0) return;
  // A custom resource of the wrong kind fails validation, and the error names the kind it claims to be.
  throw newInvalid(
    { group: groupOf(served, object), kind: object.kind ?? served.gvk.kind },
    object.metadata.name ?? '',
    errors,
  );
}
