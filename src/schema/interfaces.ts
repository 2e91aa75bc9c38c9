import type { FieldError } from '../apimachinery/meta/field-error.js';
import type { JsonObject, JsonValue } from '../apimachinery/json/json.js';

/** JSONSchemaProps of apiextensions.k8s.io/v1, as written in a CRD. */
export type JsonSchemaProps = JsonObject;

export interface ValidationOptions {
  /** The object before an update: errors of fields that did not change are ratcheted. */
  readonly old?: JsonObject | undefined;
  /** Errors found earlier (in metadata). Certain errors prevent rules from running, which an additional error reports. They are not returned. */
  readonly before?: readonly FieldError[];
  /** True if the object has another kind or version: values are not validated, but embedded objects and list types are. */
  readonly mistyped?: boolean;
  /** Receives the errors of rules that are ratcheted because their values did not change. */
  readonly warn?: (text: string) => void;
  readonly signal?: AbortSignal;
}

/** The paths of the scale subresource, with their leading dot, as in a CRD. */
export interface ScalePaths {
  readonly specReplicasPath: string;
  readonly statusReplicasPath: string;
  readonly labelSelectorPath?: string | undefined;
}

/**
 * Runs the rules (x-kubernetes-validations) of a schema on a whole object, transition rules only if there is an old object.
 * Errors of unchanged values are ratcheted, and passed to `warn`.
 */
export interface RulesValidator {
  (object: JsonObject, old: JsonObject | undefined, warn?: (text: string) => void): readonly FieldError[];
  /** Does the expensive work of the first call in advance, in steps. */
  readonly prepare?: (() => Iterable<undefined>) | undefined;
}

export interface CompileOptions {
  /** Builds the validator of the schema's rules. Called once, if there are rules. If absent, rules are not run. */
  readonly compileRules?: ((schema: JsonSchemaProps) => RulesValidator | undefined) | undefined;
  readonly scale?: ScalePaths | undefined;
}

/** The maximum number of values that the defaults of a schema can add to an object. */
export interface DefaultsBound {
  /** Added to the object itself. */
  readonly once: number;
  /** Added to each object in its lists and maps. */
  readonly perItem: number;
}

/**
 * The compiled structural schema of one version of a type. Built once; every method walks the object once. Methods take whole
 * objects (apiVersion, kind, metadata, spec …); metadata itself is left to the registry.
 */
export interface CompiledSchema {
  /** Removes unknown fields in place. Returns their paths (`spec.foo`, `spec.list[0].bar`) on request, up to a limit, for field validation. */
  prune(object: JsonObject, collect?: 'collect'): readonly string[];
  /** Like prune, without paths. Returns whether nulls were removed. */
  pruneStored(object: JsonObject): boolean;
  /** Like prune, but keeps nulls. */
  pruneUnknown(object: JsonObject): void;
  /** Sets defaults in place, and removes nulls of fields that are not nullable and have a default. */
  applyDefaults(object: JsonObject): void;
  /** Does the expensive work of the first validation in advance, in steps. */
  prepare(): Iterable<undefined>;
  /** The maximum number of values that applyDefaults may add. */
  readonly defaultsBound: DefaultsBound;
  /**
   * Coerces the metadata of embedded resources, dropping unknown fields. Returns decoding errors (only the first). Adds the paths
   * of dropped fields to `unknown`.
   */
  coerce(object: JsonObject, unknown?: string[]): readonly FieldError[];
  /** Like coerce, for a stored object that may predate its schema: fields of wrong types are also dropped. */
  coerceStored(object: JsonObject): void;
  /** Validates types, formats, values, scale, embedded metadata, list types and CEL rules, in kube-apiserver's order. */
  validate(object: JsonObject, options: ValidationOptions): readonly FieldError[];
  /** Like validate, for a write of the status subresource: only the status is checked, but rules run on the whole object. */
  validateStatus(object: JsonObject, options: ValidationOptions): readonly FieldError[];
  /** Identifies the schema: applyDefaults or prune may change an object that was stored under another hash. */
  readonly hash: string;
  /** Returns the value of a selectable field or a column. */
  valueAt(object: JsonObject, path: readonly string[]): JsonValue | undefined;
}
