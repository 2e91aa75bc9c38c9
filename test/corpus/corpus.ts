import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import type { FieldError } from '../../src/apimachinery/meta/field-error.js';
import { type JsonObject, deepCopy, objectAt, stringAt } from '../../src/apimachinery/json/json.js';
import { parseJson } from '../../src/apimachinery/json/decode.js';
import { type ObjectMeta, scopeOf } from '../../src/apimachinery/meta/meta.js';
import { nameIsDnsSubdomain } from '../../src/apimachinery/validation/names.js';
import { validateObjectMeta } from '../../src/apimachinery/validation/object-meta.js';
import { CompiledSchema } from '../../src/schema/compile.js';
import { compileRules } from '../../src/schema/cel/validator.js';
import type { ScaleSubresource } from '../../src/schema/interfaces.js';
import { readMetadata } from '../../src/schema/metadata.js';

/** A server's response to a manifest. */
export interface Answer {
  readonly outcome: string;
  readonly message?: string;
  readonly warnings?: readonly string[];
  readonly established?: boolean;
  readonly name?: string;
}

export interface Project {
  readonly crds: Readonly<Record<string, Answer>>;
  readonly samples: Readonly<Record<string, Readonly<Record<'strict' | 'ignore', Answer | undefined>>>>;
}

/** Real definitions and objects with the responses of kube-apiserver (see SOURCES.md beside them). */
export class Corpus {
  readonly projects: Readonly<Record<string, Project>>;
  readonly objects: Readonly<Record<string, JsonObject>>;
  private readonly files: JsonObject;

  constructor(path = join(__dirname, '../fixtures/crds/corpus.json.gz')) {
    const content = parseJson(gunzipSync(readFileSync(path))) as JsonObject;
    this.projects = content['projects'] as Record<string, JsonObject> as Record<string, JsonObject & Project>;
    this.objects = content['objects'] as Record<string, JsonObject>;
    this.files = content['files'] as JsonObject;
  }

  /** Returns a copy of the object of a manifest. */
  read(path: string): JsonObject {
    return deepCopy(objectAt(this.files, path) ?? {});
  }
}

/** A version of a definition that accepts objects. */
export interface Served {
  readonly kind: string;
  readonly namespaced: boolean;
  readonly hasStatus: boolean;
  readonly schema: CompiledSchema;
}

/** Returns the served versions of a definition, by apiVersion and kind. */
export function servedVersions(crd: JsonObject): Map<string, Served> {
  const spec = objectAt(crd, 'spec') ?? {};
  const kind = stringAt(objectAt(spec, 'names'), 'kind') ?? '';
  const served = new Map<string, Served>();
  for (const version of spec['versions'] as JsonObject[]) {
    const subresources = objectAt(version, 'subresources');
    const scale = objectAt(subresources, 'scale') as (JsonObject & ScaleSubresource) | undefined;
    const schema = objectAt(objectAt(version, 'schema'), 'openAPIV3Schema') ?? {};
    served.set(`${stringAt(spec, 'group') ?? ''}/${stringAt(version, 'name') ?? ''}/${kind}`, {
      kind,
      namespaced: spec['scope'] === 'Namespaced',
      hasStatus: objectAt(subresources, 'status') !== undefined,
      schema: new CompiledSchema(schema, { compileRules, scale }),
    });
  }
  return served;
}

/** The outcome of a creation. */
export interface Result {
  readonly outcome: 'accepted' | 'rejected';
  readonly messages: readonly string[];
  readonly object: JsonObject;
}

const rejected = (messages: readonly string[], object: JsonObject): Result => ({
  outcome: 'rejected',
  messages,
  object,
});

/** Processes the body of a creation in the namespace `corpus` as the server does: decodes, defaults, and validates it. */
export function create(sample: JsonObject, served: Served, strict: boolean): Result {
  const object = deepCopy(sample);
  const unknown: string[] = [];
  object['metadata'] = readMetadata(object['metadata'] ?? {}, 'throw', (path) => unknown.push(`metadata.${path}`));
  unknown.push(...served.schema.prune(object, 'collect'));
  const coerced: string[] = [];
  const failures = served.schema.coerce(object, coerced);
  unknown.push(...coerced.sort());
  if (failures.length > 0) return rejected(failures.map(String), object);
  if (strict && unknown.length > 0)
    return rejected(
      unknown.map((path) => `unknown field "${path}"`),
      object,
    );
  served.schema.applyDefaults(object);
  if (served.hasStatus) delete object['status'];
  const meta = object['metadata'] as ObjectMeta;
  if (served.namespaced) meta.namespace = 'corpus';
  if (meta.name === undefined && meta.generateName !== undefined) meta.name = `${meta.generateName}abcde`;
  meta.generation = 1;
  const before = validateObjectMeta(meta, scopeOf(served), nameIsDnsSubdomain);
  const errors: readonly FieldError[] = [...before, ...served.schema.validate(object, { before })];
  if (errors.length > 0) return rejected([...new Set(errors.map(String))], object);
  // Fields dropped before storage may have defaults, which are set when the object is read.
  served.schema.applyDefaults(object);
  return { outcome: 'accepted', messages: [], object };
}

/** Splits the output of kubectl into its messages. */
export function expectedMessages(message: string | undefined): string[] {
  const text = message ?? '';
  const strict = text.split('strict decoding error: ')[1];
  if (strict !== undefined) return strict.split(/, (?=unknown field "|duplicate field ")/);
  const causes = text
    .split(/ is invalid: /)
    .slice(1)
    .join(' is invalid: ');
  return causes.startsWith('\n* ') ? causes.slice(3).split('\n* ') : [causes];
}

/** Returns the object without the fields that the server sets, and without the annotation that kubectl updates. */
export function comparable(object: JsonObject): JsonObject {
  const copy = deepCopy(object);
  const meta = objectAt(copy, 'metadata');
  for (const key of ['uid', 'resourceVersion', 'creationTimestamp', 'managedFields', 'selfLink']) delete meta?.[key];
  delete objectAt(meta, 'annotations')?.['kubectl.kubernetes.io/last-applied-configuration'];
  if (meta?.['generateName'] !== undefined) delete meta['name'];
  return copy;
}
