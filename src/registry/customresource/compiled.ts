import { serialize } from 'node:v8';
import { type JsonObject, stringAt, textAt } from '../../apimachinery/json/json.js';
import { PREPARED_RULES_PARTS } from '../../scheduling/thresholds.js';
import { compileRules } from '../../schema/cel/validator.js';
import { CompiledSchema } from '../../schema/compile.js';
import type { ScaleSubresource } from '../../schema/interfaces.js';
import type { PrebuiltNodes } from '../../schema/node.js';
import { buildNodesInSteps } from '../../schema/sliced.js';
import { customResourceType, type Type } from '../../structured-merge-diff/schema/custom-resource.js';
import type { Definition, DefinitionVersion } from './definition.js';

let ids = 0;

/** A definition with its compiled schemas. It is valid as long as neither the spec nor the accepted names change. */
export class CompiledDefinition {
  /** Identifies this compilation within the process. */
  readonly id: string;
  private bytes: Uint8Array | undefined;

  constructor(
    readonly definition: Definition,
    readonly versions: ReadonlyMap<string, CompiledVersion>,
  ) {
    this.id = `${definition.uid}/${String(++ids)}`;
  }

  /** The definition, serialized by node:v8. */
  get serialized(): Uint8Array {
    return (this.bytes ??= serialize(this.definition));
  }
}

export function compileDefinition(definition: Definition): CompiledDefinition {
  const versions = definition.versions.map((version) => [version.name, compileVersion(definition, version)] as const);
  return new CompiledDefinition(definition, new Map(versions));
}

/** Compiles a definition in steps, for large definitions. */
export function* compileSliced(definition: Definition): Generator<undefined, CompiledDefinition> {
  const versions = new Map<string, CompiledVersion>();
  for (const version of definition.versions) {
    const made = version.schema === undefined ? undefined : yield* buildNodesInSteps(version.schema);
    yield;
    const compiled = compileVersion(definition, version, made);
    versions.set(version.name, compiled);
    if ((made?.nodes.size ?? 0) < PREPARED_RULES_PARTS) continue;
    yield;
    yield* compiled.schema.prepare();
  }
  return new CompiledDefinition(definition, versions);
}

export interface CompiledVersion {
  readonly version: DefinitionVersion;
  readonly schema: CompiledSchema;
  readonly mergeType: Type;
  readonly preserveUnknownFields: boolean;
}

/** Returns the compiled version for a `group/version`, or undefined if the type has no such version. */
export type FormOf = (groupVersion: string) => CompiledVersion | undefined;

const ANYTHING: JsonObject = { type: 'object', 'x-kubernetes-preserve-unknown-fields': true };

function compileVersion(definition: Definition, version: DefinitionVersion, made?: PrebuiltNodes): CompiledVersion {
  const scale = readScale(version);
  return {
    version,
    schema: new CompiledSchema(version.schema ?? ANYTHING, { compileRules, scale }, made),
    mergeType: customResourceType(version.schema, definition.preserveUnknownFields),
    preserveUnknownFields: definition.preserveUnknownFields || version.schema === undefined,
  };
}

export function readScale(version: DefinitionVersion): ScaleSubresource | undefined {
  if (version.scale === undefined) return undefined;
  const labelSelectorPath = stringAt(version.scale, 'labelSelectorPath');
  return {
    specReplicasPath: textAt(version.scale, 'specReplicasPath'),
    statusReplicasPath: textAt(version.scale, 'statusReplicasPath'),
    ...(labelSelectorPath === undefined ? {} : { labelSelectorPath }),
  };
}
