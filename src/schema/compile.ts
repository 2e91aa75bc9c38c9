// Schemas are walked by our own code rather than compiled by ajv. Error texts, bad values and their order must match
// kube-apiserver to the letter, the errors of the best alternative of anyOf and oneOf are chosen by counting passed checks,
// errors of unchanged fields are ratcheted during the walk, integers are exact to 64 bits, and patterns need an engine of their
// own. Only ajv's dispatch would remain, at 2 to 10 ms of code generation for each version of a CRD and half a megabyte of code
// for the large ones. A tree of uniform nodes needs no code generation, and checks a 2 KiB object in a few microseconds, because
// paths are built only for errors and every walk skips the parts of the schema that do not concern it.
import { createHash } from 'node:crypto';
import { type FieldError, FieldPath, invalid } from '../apimachinery/meta/field-error.js';
import type { JsonObject } from '../apimachinery/json/json.js';
import { goJson } from '../apimachinery/meta/meta.js';
import type { RuleValidator } from './cel/validator.js';
import { DefaultValues, applyDefaults, boundOfDefaults } from './defaulting/defaults.js';
import { coerceEmbedded, validateEmbedded } from './embedded.js';
import type { DefaultsBound, JsonSchemaProps, ScaleSubresource, ValidationOptions } from './interfaces.js';
import { validateListTypes } from './list-types.js';
import { defaultsInMetadata, normalizeMetadataDefaults } from './defaulting/metadata-defaults.js';
import { EMPTY_NODE, type PrebuiltNodes, SchemaNode } from './node.js';
import { pruneObject, pruneStored, pruneUnknown } from './prune.js';
import { NO_OLD_VALUE } from './ratchet.js';
import { validateScaleSpec, validateScaleStatus } from './scale.js';
import { validateValue } from './validate.js';

export interface CompileOptions {
  /** Builds the validator of the schema's rules. Called once, if there are rules. If absent, rules are not run. */
  readonly compileRules?: ((schema: JsonSchemaProps) => RuleValidator | undefined) | undefined;
  readonly scale?: ScaleSubresource | undefined;
}

/**
 * The compiled structural schema of one version of a type. Built once; every method walks the object once. Methods take whole
 * objects (apiVersion, kind, metadata, spec …); metadata itself is left to the registry.
 */
export class CompiledSchema {
  private readonly root: SchemaNode;
  private readonly status: SchemaNode;
  private readonly defaults: DefaultValues;
  private readonly scale: ScaleSubresource | undefined;
  private readonly rules: RuleValidator | undefined;
  private digest: string | undefined;
  private bound: DefaultsBound | undefined;

  /** `schema` is the openAPIV3Schema, which must be a valid structural schema, `prebuilt` the nodes of its parts, if `buildNodesInSteps` has built them. */
  constructor(
    private readonly schema: JsonSchemaProps,
    options: CompileOptions = {},
    prebuilt?: PrebuiltNodes,
  ) {
    const root = prebuilt?.nodes.get(schema) ?? new SchemaNode(schema);
    const settled = normalizeMetadataDefaults(schema, root);
    this.root = settled === schema ? root : new SchemaNode(settled, { prebuilt });
    this.defaults = new DefaultValues(defaultsInMetadata(this.root));
    this.status = this.root.properties?.get('status') ?? EMPTY_NODE;
    this.scale = options.scale;
    this.rules = this.root.hasRules ? options.compileRules?.(schema) : undefined;
  }

  /** Identifies the schema: applyDefaults or prune may change an object that was stored under another hash. */
  get hash(): string {
    this.digest ??= createHash('sha256').update(goJson(this.schema)).digest('base64url');
    return this.digest;
  }

  /** Removes unknown fields in place. Returns their paths (`spec.foo`, `spec.list[0].bar`) on request, up to a limit, for field validation. */
  prune(object: JsonObject, collect?: 'collect'): readonly string[] {
    return pruneObject(object, this.root, collect === 'collect');
  }

  /** Like prune, without paths. Returns whether nulls were removed. */
  pruneStored(object: JsonObject): boolean {
    return pruneStored(object, this.root);
  }

  /** Like prune, but keeps nulls. */
  pruneUnknown(object: JsonObject): void {
    pruneUnknown(object, this.root, 'resource');
  }

  /** The maximum number of values that applyDefaults may add. */
  get defaultsBound(): DefaultsBound {
    return (this.bound ??= boundOfDefaults(this.root));
  }

  /** Does the expensive work of the first validation in advance, in steps. */
  prepare(): Iterable<undefined> {
    return this.rules?.prepare() ?? [];
  }

  /** Sets defaults in place, and removes nulls of fields that are not nullable and have a default. */
  applyDefaults(object: JsonObject): void {
    applyDefaults(object, this.root, this.defaults);
  }

  /**
   * Coerces the metadata of embedded resources, dropping unknown fields. Returns decoding errors (only the first). Adds the paths
   * of dropped fields to `unknown`.
   */
  coerce(object: JsonObject, unknown?: string[]): readonly FieldError[] {
    const error = coerceEmbedded(object, this.root, 'part', { onWrongType: 'throw', unknown });
    return error === undefined ? [] : [error];
  }

  /** Like coerce, for a stored object that may predate its schema: fields of wrong types are also dropped. */
  coerceStored(object: JsonObject): void {
    coerceEmbedded(object, this.root, 'part', { onWrongType: 'drop' });
  }

  /** Validates types, formats, values, scale, embedded metadata, list types and CEL rules, in kube-apiserver's order. */
  validate(object: JsonObject, options: ValidationOptions): readonly FieldError[] {
    const { old, mistyped = false } = options;
    const errors = mistyped ? [] : validateValue(this.root, object, '', old ?? NO_OLD_VALUE);
    if (this.scale !== undefined && !mistyped) {
      errors.push(...validateScaleSpec(object, this.scale), ...validateScaleStatus(object, this.scale));
    }
    if (this.root.hasEmbedded) errors.push(...validateEmbedded(object, this.root, 'part'));
    this.addListTypeErrors(object, old, errors);
    return this.addRuleErrors(object, options, errors);
  }

  /** Like validate, for a write of the status subresource: only the status is checked, but rules run on the whole object. */
  validateStatus(object: JsonObject, options: ValidationOptions): readonly FieldError[] {
    const { old } = options;
    const { status } = object;
    // If the old object has no status, a null status counts as unchanged.
    const before = old === undefined ? NO_OLD_VALUE : (old['status'] ?? null);
    const errors = status === undefined ? [] : validateValue(this.status, status, 'status', before);
    if (this.scale !== undefined) errors.push(...validateScaleStatus(object, this.scale));
    this.addListTypeErrors(object, old, errors);
    return this.addRuleErrors(object, options, errors);
  }

  /** Adds list type errors, unless the old object already had duplicates. */
  private addListTypeErrors(object: JsonObject, old: JsonObject | undefined, errors: FieldError[]): void {
    if (!this.root.hasListTypes) return;
    const found = validateListTypes(object, this.root);
    if (found.length > 0 && (old === undefined || validateListTypes(old, this.root).length === 0))
      errors.push(...found);
  }

  private addRuleErrors(object: JsonObject, options: ValidationOptions, errors: FieldError[]): FieldError[] {
    if (this.rules === undefined) return errors;
    const blocked = skippedRulesError(options.before === undefined ? errors : [...options.before, ...errors]);
    if (blocked !== undefined) return [...errors, blocked];
    const { old, warn } = options;
    errors.push(...this.rules.validate(object, { old, ratchet: old !== undefined, warn }).errors);
    return errors;
  }
}

/** Schema errors that prevent rules from being evaluated. */
const BLOCKING = new Set([
  'FieldValueNotSupported',
  'FieldValueRequired',
  'FieldValueTooLong',
  'FieldValueTooMany',
  'FieldValueTypeInvalid',
]);

/** Returns the error that reports skipped rules because the object is invalid; undefined if none are skipped. */
function skippedRulesError(errors: readonly FieldError[]): FieldError | undefined {
  if (!errors.some((error) => BLOCKING.has(error.type))) return undefined;
  const why =
    'some validation rules were not checked because the object was invalid; correct the existing errors to complete validation';
  return invalid(FieldPath.empty, undefined, why);
}
