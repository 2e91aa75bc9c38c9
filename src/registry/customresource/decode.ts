import type { DetailedJson } from '../../apimachinery/json/decode.js';
import { noteFloats } from '../../apimachinery/json/float.js';
import type { JsonObject } from '../../apimachinery/json/json.js';
import { compareUtf8, type GroupVersionKind, type KubeObject, quote } from '../../apimachinery/meta/meta.js';
import { inOrderOfKeys, MetadataError, readMetadata } from '../../schema/metadata.js';
import { DecodeError, type DecodedObject } from '../rest/served.js';
import type { FormOf } from './compiled.js';

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
