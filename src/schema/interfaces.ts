import type { FieldError } from '../apimachinery/field-error.js';
import type { JsonObject, JsonValue } from '../apimachinery/json.js';

/** JSONSchemaProps of apiextensions.k8s.io/v1, as it stands in a CRD. */
export type JsonSchemaProps = JsonObject;

export interface ValidationOptions {
  /** The object before an update: errors of fields that did not change are ratcheted. */
  readonly old?: JsonObject | undefined;
  /** Errors of schema and list types, up to kube-apiserver's limits. */
  readonly signal?: AbortSignal;
}

/**
 * The compiled structural schema of one version of a type. Made once; every method walks the object once.
 * Objects are whole objects (apiVersion, kind, metadata, spec …); metadata itself is left to the registry.
 */
export interface CompiledSchema {
  /** Removes unknown fields in place. Returns their paths (`spec.foo`, `spec.list[0].bar`) if asked, up to a bound, for field validation. */
  prune(object: JsonObject, collect: boolean): readonly string[];
  /** Sets defaults in place, and removes nulls of fields that are not nullable and have a default. */
  applyDefaults(object: JsonObject): void;
  /** Coerces embedded objects' metadata (embedded resources), dropping what is not metadata; returns decoding errors. */
  coerce(object: JsonObject): readonly FieldError[];
  /** Types, formats, value validations, list types and CEL rules, in kube-apiserver's order. */
  validate(object: JsonObject, options: ValidationOptions): readonly FieldError[];
  /** Whether applyDefaults or prune could change an object that was stored under another schema. */
  readonly hash: string;
  /** Values of selectable fields and columns. */
  valueAt(object: JsonObject, path: readonly string[]): JsonValue | undefined;
}
