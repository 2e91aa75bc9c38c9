import { ApiError } from '../../apimachinery/meta/errors.js';
import type { DetailedJson } from '../../apimachinery/json/decode.js';
import { noteFloats } from '../../apimachinery/json/float.js';
import { addFacts, deepCopy, deepEqual, FACTS, type JsonObject } from '../../apimachinery/json/json.js';
import { compareUtf8, type GroupVersionKind, type KubeObject, quote } from '../../apimachinery/meta/meta.js';
import { inOrderOfKeys, MetadataError, readMetadata } from '../../schema/metadata.js';
import type { MaybePromise } from '../../util/maybe-promise.js';
import { DecodeError } from '../../apimachinery/scheme/decode-error.js';
import type { DecodedObject, StorageCodec } from '../rest/served.js';
import type { CompiledVersion, FormOf } from './compiled.js';
import { gvkOf } from './resource-type.js';
import type { ServeOptions, VersionParts } from './serve-options.js';

/** Returns the functions that decode objects of a version and convert them for the store. */
export function storageCodec(options: ServeOptions, { compiled, view, formOf }: VersionParts): StorageCodec {
  const { definition } = options.compiled;
  const { schema, preserveUnknownFields } = compiled;
  const gvk = gvkOf(definition, compiled.version);
  const storageGroupVersion = `${gvk.group}/${definition.storageVersion}`;
  const stored = (object: KubeObject): MaybePromise<KubeObject> => {
    if (object[FACTS]?.mutated === true) schema.prune(object);
    return toStored(object, formOf(storageGroupVersion), storageGroupVersion, options);
  };
  return {
    decode: (body, strict) => decodeCustom(formOf, gvk, body, strict),
    maxDefaultedValues: (objects) => schema.defaultsBound.once + objects * schema.defaultsBound.perItem,
    toStorage: (object) => {
      if (options.signal.aborted) throw definitionChanged();
      // Nulls left by an apply are dropped when the object is read.
      const wasApplied = object[FACTS]?.unpruned === true && !preserveUnknownFields;
      if (wasApplied && schema.pruneStored(object)) addFacts(object, { unseenMembers: 'stored' });
      return stored(object);
    },
    dryRunResult: async (object) => {
      if (object.metadata.resourceVersion === '') delete object.metadata.resourceVersion;
      return view.convertStored(await stored(object));
    },
    prepare: options.conversion.remote ? (objects) => view.prepare(objects) : undefined,
  };
}

/** Decodes a body into an object of the version: reads metadata strictly, prunes unknown fields, coerces embedded objects, sets defaults. */
export function decodeCustom(
  formOf: FormOf,
  gvk: GroupVersionKind,
  body: DetailedJson,
  strict: boolean,
): DecodedObject {
  const object = body.value as KubeObject;
  const strictErrors = [
    ...(body.sourceErrors ?? []),
    ...body.duplicates.map((path) => `duplicate field ${quote(path)}`),
  ];
  const unknown: string[] = [];
  try {
    const given = (object as JsonObject)['metadata'];
    object.metadata =
      given === undefined
        ? {}
        : readMetadata(given, 'throw', strict ? (path) => unknown.push(`metadata.${path}`) : undefined);
    if (unknown.length > 1) unknown.splice(0, unknown.length, ...inOrderOfKeys(unknown));
  } catch (error) {
    if (error instanceof MetadataError) throw new DecodeError(error.message);
    throw error;
  }
  // Objects of another group or kind pass here; they are refused later because of their kind.
  const isOwn = object.kind === gvk.kind && object.apiVersion?.startsWith(`${gvk.group}/`) === true;
  const form = isOwn ? formOf(object.apiVersion ?? '') : undefined;
  if (form !== undefined) {
    if (!form.preserveUnknownFields) unknown.push(...form.schema.prune(object, strict ? 'collect' : undefined));
    const [failure] = form.schema.coerce(object, unknown);
    if (failure !== undefined) throw new DecodeError(failure.toString());
    form.schema.applyDefaults(object);
  } else if (isOwn) unknown.push(...pruneAll(object));
  if (body.floats !== undefined) noteFloats(object, body.floats);
  if (strict) strictErrors.push(...unknown.map((path) => `unknown field ${quote(path)}`));
  return { object, strictErrors };
}

/** Prunes all fields: a version that does not exist knows none. */
function pruneAll(object: JsonObject): string[] {
  const unknown = Object.keys(object).filter((key) => key !== 'apiVersion' && key !== 'kind' && key !== 'metadata');
  for (const key of unknown) Reflect.deleteProperty(object, key);
  return unknown.sort(compareUtf8);
}

/**
 * Converts an object to the storage version and drops what that does not know. Its defaults are those at the time of reading, and
 * are added then.
 */
function toStored(
  object: KubeObject,
  form: CompiledVersion | undefined,
  groupVersion: string,
  { conversion, signal }: ServeOptions,
): MaybePromise<KubeObject> {
  if (object.apiVersion === groupVersion) return object;
  const pruned = (converted: KubeObject): KubeObject => {
    if (form?.preserveUnknownFields === false) form.schema.prune(converted);
    // The facts about the object do not hold for its conversion.
    delete converted[FACTS];
    if (form !== undefined && lacksDefaults(converted, form)) addFacts(converted, { incomplete: true });
    return converted;
  };
  if (!conversion.remote) return pruned(deepCopy(conversion.convert(object, groupVersion)));
  return conversion.convertAll([object], groupVersion).then(([converted]) => {
    if (signal.aborted) throw definitionChanged();
    return pruned(converted ?? object);
  });
}

function lacksDefaults(object: KubeObject, { schema }: CompiledVersion): boolean {
  const { once, perItem } = schema.defaultsBound;
  if (once + perItem === 0) return false;
  const shown = deepCopy(object);
  schema.applyDefaults(shown);
  return !deepEqual(object, shown);
}

/** Returns the error for a write prepared under a definition that has changed meanwhile: it would bypass the new rules. */
export function definitionChanged(): ApiError {
  const text = 'the definition of the resource has changed while the request was processed, please try again';
  return new ApiError(503, 'ServiceUnavailable', text, { retryAfterSeconds: 1 });
}
