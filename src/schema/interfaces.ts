import type { FieldError } from '../apimachinery/meta/field-error.js';
import type { JsonObject, JsonValue } from '../apimachinery/json/json.js';

/** JSONSchemaProps of apiextensions.k8s.io/v1, as it stands in a CRD. */
export type JsonSchemaProps = JsonObject;

export interface ValidationOptions {
  /** The object before an update: errors of fields that did not change are ratcheted. */
  readonly old?: JsonObject | undefined;
  /** Errors found before (metadata): with certain ones, rules are not run, and an error says so. They are not returned. */
  readonly before?: readonly FieldError[];
  /** Its kind or version is another: what the schema says of values is left out, what it says of embedded objects and lists is not. */
  readonly mistyped?: boolean;
  /** Takes the errors of rules that are let pass because their values did not change. */
  readonly warn?: (text: string) => void;
  readonly signal?: AbortSignal;
}

/** Paths of the scale subresource, with their leading dot, as a CRD has them. */
export interface ScalePaths {
  readonly specReplicasPath: string;
  readonly statusReplicasPath: string;
  readonly labelSelectorPath?: string | undefined;
}

/**
 * Runs the rules (x-kubernetes-validations) of a schema on a whole object: all of them, transition rules where there is an old
 * object; errors of what did not change since are let pass, and given to `warn`.
 */
export interface RulesValidator {
  (object: JsonObject, old: JsonObject | undefined, warn?: (text: string) => void): readonly FieldError[];
  /** Makes beforehand, in steps, what the first call would take long for. */
  readonly prepare?: (() => Iterable<undefined>) | undefined;
}

export interface CompileOptions {
  /** Makes the validator of the schema's rules; called once, if there are rules. Without it rules are not run. */
  readonly compileRules?: ((schema: JsonSchemaProps) => RulesValidator | undefined) | undefined;
  readonly scale?: ScalePaths | undefined;
}

/** How many values the defaults of a schema can add to an object, at most. */
export interface DefaultsBound {
  /** To the object as such. */
  readonly once: number;
  /** To each object in its lists and maps. */
  readonly perItem: number;
}

/**
 * The compiled structural schema of one version of a type. Made once; every method walks the object once.
 * Objects are whole objects (apiVersion, kind, metadata, spec …); metadata itself is left to the registry.
 */
export interface CompiledSchema {
  /** Removes unknown fields in place. Returns their paths (`spec.foo`, `spec.list[0].bar`) if asked, up to a bound, for field validation. */
  prune(object: JsonObject, collect?: 'collect'): readonly string[];
  /** The same without a list of paths; returns whether nulls were removed. */
  pruneRead(object: JsonObject): boolean;
  /** The same, but nulls stay. */
  pruneUnknown(object: JsonObject): void;
  /** Sets defaults in place, and removes nulls of fields that are not nullable and have a default. */
  applyDefaults(object: JsonObject): void;
  /** Makes beforehand, in steps, what the first validation would take long for. */
  prepare(): Iterable<undefined>;
  /** How many values that may add. */
  readonly defaultsBound: DefaultsBound;
  /**
   * Coerces embedded objects' metadata (embedded resources), dropping what is not metadata; returns decoding errors (the first
   * one). Paths of dropped fields are added to `unknown`.
   */
  coerce(object: JsonObject, unknown?: string[]): readonly FieldError[];
  /** The same for an object that is stored, perhaps since before its schema: fields of wrong types are dropped, too. */
  coerceStored(object: JsonObject): void;
  /** Types, formats, value validations, scale, embedded metadata, list types and CEL rules, in kube-apiserver's order. */
  validate(object: JsonObject, options: ValidationOptions): readonly FieldError[];
  /** The same for a write of the status subresource: only the status is checked, rules run on the whole object. */
  validateStatus(object: JsonObject, options: ValidationOptions): readonly FieldError[];
  /** Whether applyDefaults or prune could change an object that was stored under another schema. */
  readonly hash: string;
  /** Values of selectable fields and columns. */
  valueAt(object: JsonObject, path: readonly string[]): JsonValue | undefined;
}
