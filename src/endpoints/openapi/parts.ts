import { deserialize, serialize } from 'node:v8';
import { isObject, type JsonObject, type JsonValue, stringifyJson } from '../../apimachinery/json/json.js';
import { OFFLOAD_OPENAPI_VALUES } from '../../scheduling/thresholds.js';
import { encodeDefinition, encodePath } from './gnostic.js';
import { encodeDocumentV3 } from './gnostic-v3.js';
import type { OpenApiGroupVersion, PublishedComponents } from './source.js';
import { definitionsV2, pathsV2 } from './spec-v2.js';
import { buildSpec } from './spec-v3.js';

/** The descriptions of one group version: its v3 document in JSON or Protobuf, and its parts of the v2 document. */
export type Description = 'v3' | 'v3-protobuf' | 'v2';

/** The parts of the v2 document that come from one group version. */
export interface PartsV2 {
  readonly paths: string;
  readonly definitions: ReadonlyMap<string, string>;
  readonly encodedPaths: readonly Uint8Array[];
  readonly encodedDefinitions: ReadonlyMap<string, Uint8Array>;
}

/** Builds a description of a group version in one go. Read the parts of the v2 document with `readParts`. */
export function describe(what: Description, gv: OpenApiGroupVersion, published: PublishedComponents): Uint8Array {
  switch (what) {
    case 'v3':
      return Buffer.from(stringifyJson(buildSpec(gv, published).document));
    case 'v3-protobuf':
      return encodeDocumentV3(buildSpec(gv, published).document);
    case 'v2':
      return serialize(runToCompletion(buildPartsInSteps(gv, published)));
  }
}

export const readParts = (bytes: Uint8Array): PartsV2 => deserialize(bytes) as PartsV2;

function runToCompletion<T>(steps: Iterator<undefined, T>): T {
  for (;;) {
    const step = steps.next();
    if (step.done === true) return step.value;
  }
}

/** Builds the parts of the v2 document in steps, between which other work can run. */
export function* buildPartsInSteps(
  gv: OpenApiGroupVersion,
  published: PublishedComponents,
): Generator<undefined, PartsV2, undefined> {
  const spec = buildSpec(gv, published);
  yield;
  const paths = pathsV2(gv, spec.operations);
  const encodedPaths = Object.keys(paths).map((path) => encodePath(path, paths[path] as JsonObject));
  yield;
  const schemas = definitionsV2(gv, spec);
  const definitions = new Map<string, string>();
  const encodedDefinitions = new Map<string, Uint8Array>();
  for (const name in schemas) {
    const schema = schemas[name] as JsonObject;
    definitions.set(name, stringifyJson(schema));
    encodedDefinitions.set(name, encodeDefinition(name, schema));
  }
  return {
    paths: stringifyJson(paths).slice(1, -1),
    definitions,
    encodedPaths,
    encodedDefinitions,
  };
}

/** Reports whether the schemas of a group version hold more values in total than this thread should handle. */
export function isLargeGroupVersion({ custom, kinds }: OpenApiGroupVersion): boolean {
  if (!custom) return false;
  let left = OFFLOAD_OPENAPI_VALUES;
  const count = (value: JsonValue | undefined): void => {
    if (--left < 0 || typeof value !== 'object' || value === null) return;
    if (Array.isArray(value)) for (let i = 0; i < value.length && left >= 0; i++) count(value[i]);
    else if (isObject(value)) for (const key in value) if (left >= 0) count(value[key]);
  };
  for (const { schema } of kinds) count(schema);
  return left < 0;
}
