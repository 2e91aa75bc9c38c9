// Schemas are walked by our own code rather than compiled by ajv. Error texts, bad values and their order must match
// kube-apiserver to the letter, the errors of the best alternative of anyOf and oneOf are chosen by counting passed checks,
// errors of unchanged fields are ratcheted during the walk, integers are exact to 64 bits, and patterns need an engine of their
// own. Only ajv's dispatch would remain, at 2 to 10 ms of code generation for each version of a CRD and half a megabyte of code
// for the large ones. A tree of uniform nodes needs no code generation, and checks a 2 KiB object in a few microseconds, because
// paths are built only for errors and every walk skips the parts of the schema that do not concern it.
import { createHash } from 'node:crypto';
import type { FieldError } from '../apimachinery/meta/field-error.js';
import { type JsonObject, type JsonValue } from '../apimachinery/json/json.js';
import { goJson } from '../apimachinery/meta/meta.js';
import { skippedRulesError } from './cel/index.js';
import { DefaultValues, applyDefaults, boundOfDefaults } from './defaulting/defaults.js';
import { coerceEmbedded, validateEmbedded } from './embedded.js';
import type {
  CompileOptions,
  CompiledSchema,
  DefaultsBound,
  JsonSchemaProps,
  RulesValidator,
  ScalePaths,
  ValidationOptions,
} from './interfaces.js';
import { validateListTypes } from './list-types.js';
import { defaultsInMetadata, normalizeMetadataDefaults } from './defaulting/metadata-defaults.js';
import { EMPTY_NODE, type PrebuiltNodes, SchemaNode } from './node.js';
import { pruneObject, pruneStored, pruneUnknown } from './prune.js';
import { NO_OLD_VALUE } from './ratchet.js';
import { followPath, validateScaleSpec, validateScaleStatus } from './scale.js';
import { validateValue } from './validate.js';

/**
 * Compiles the openAPIV3Schema of one version of a type, which must be a valid structural schema. `made`: the parts that
 * `nodesSliced` has built from it.
 */
export function compileSchema(
  openAPIV3Schema: JsonSchemaProps,
  options: CompileOptions = {},
  made?: PrebuiltNodes,
): CompiledSchema {
  return new StructuralSchema(openAPIV3Schema, options, made);
}

class StructuralSchema implements CompiledSchema {
  private readonly root: SchemaNode;
  private readonly status: SchemaNode;
  private readonly defaults: DefaultValues;
  private readonly scale: ScalePaths | undefined;
  private readonly rules: RulesValidator | undefined;
  private digest: string | undefined;
  private bound: DefaultsBound | undefined;

  constructor(
    private readonly schema: JsonSchemaProps,
    options: CompileOptions,
    prebuilt: PrebuiltNodes | undefined,
  ) {
    const root = prebuilt?.nodes.get(schema) ?? new SchemaNode(schema);
    const settled = normalizeMetadataDefaults(schema, root);
    this.root = settled === schema ? root : new SchemaNode(settled, { prebuilt });
    this.defaults = new DefaultValues(defaultsInMetadata(this.root));
    this.status = this.root.properties?.get('status') ?? EMPTY_NODE;
    this.scale = options.scale;
    this.rules = this.root.hasRules ? options.compileRules?.(schema) : undefined;
  }

  get hash(): string {
    this.digest ??= createHash('sha256').update(goJson(this.schema)).digest('base64url');
    return this.digest;
  }

  prune(object: JsonObject, collect?: 'collect'): readonly string[] {
    return pruneObject(object, this.root, collect === 'collect');
  }

  pruneStored(object: JsonObject): boolean {
    return pruneStored(object, this.root);
  }

  pruneUnknown(object: JsonObject): void {
    pruneUnknown(object, this.root, 'resource');
  }

  get defaultsBound(): DefaultsBound {
    return (this.bound ??= boundOfDefaults(this.root));
  }

  prepare(): Iterable<undefined> {
    return this.rules?.prepare?.() ?? [];
  }

  applyDefaults(object: JsonObject): void {
    applyDefaults(object, this.root, this.defaults);
  }

  coerce(object: JsonObject, unknown?: string[]): readonly FieldError[] {
    const error = coerceEmbedded(object, this.root, 'part', { onWrongType: 'throw', unknown });
    return error === undefined ? [] : [error];
  }

  coerceStored(object: JsonObject): void {
    coerceEmbedded(object, this.root, 'part', { onWrongType: 'drop' });
  }

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

  valueAt(object: JsonObject, path: readonly string[]): JsonValue | undefined {
    const result = followPath(object, path);
    return 'error' in result ? undefined : result.value;
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
    errors.push(...this.rules(object, options.old, options.warn));
    return errors;
  }
}
