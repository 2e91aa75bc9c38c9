import { aggregate, FieldPath, type FieldError } from '../../../apimachinery/meta/field-error.js';
import { deepCopy, isObject, type JsonObject, type JsonValue } from '../../../apimachinery/json/json.js';
import type { KubeObject } from '../../../apimachinery/meta/meta.js';
import { validateAnnotations, validateLabels } from '../../../apimachinery/validation/object-meta.js';

/** The fields that a webhook may not change, in the order of their checks, with their names in messages. */
const FIXED: readonly (readonly [string, (object: KubeObject) => string])[] = [
  ['kind', (object) => object.kind ?? ''],
  ['name', (object) => object.metadata.name ?? ''],
  ['namespace', (object) => object.metadata.namespace ?? ''],
  ['UID', (object) => object.metadata.uid ?? ''],
];

/** Returns the metadata, which may be missing if an apply removed all fields. */
const metadataOf = (object: KubeObject): KubeObject['metadata'] => (object as Partial<KubeObject>).metadata ?? {};

/** Throws if a converted object is no longer the same object. */
export function checkIdentity(original: KubeObject, converted: JsonObject): void {
  const metadata = isObject(converted['metadata']) ? converted['metadata'] : {};
  const other = { ...converted, metadata } as KubeObject;
  const before = { ...original, metadata: metadataOf(original) };
  for (const [name, of] of FIXED) {
    if (of(before) !== of(other)) {
      throw new Error(`must have the same ${name}: ${of(before)} != ${of(other)}`);
    }
  }
}

/** Returns the original's metadata with the labels and annotations of the converted object: a webhook may change nothing else. */
export function restoredMetadata(original: KubeObject, converted: JsonObject): KubeObject['metadata'] {
  const given = converted['metadata'];
  if (given === undefined) throw new Error('missing metadata in converted object');
  if (!isObject(given)) throw new Error(`invalid metadata of type ${goType(given)} in converted object`);
  const metadata = deepCopy(metadataOf(original)) as JsonObject;
  for (const field of ['labels', 'annotations'] as const) {
    const value = given[field];
    if (value === undefined || value === null) delete metadata[field];
    else metadata[field] = readTexts(field, value, metadataOf(original)[field] ?? {});
  }
  return metadata;
}

function readTexts(
  field: 'labels' | 'annotations',
  value: JsonValue,
  before: Readonly<Record<string, string>>,
): JsonObject {
  if (!isObject(value)) throw new Error(`invalid metadata.${field} of type ${goType(value)} in converted object`);
  const texts: Record<string, string> = {};
  for (const [key, text] of Object.entries(value)) {
    if (typeof text !== 'string') {
      throw new Error(`metadata.${field}[${key}] must be a string, but is ${goType(text)} in converted object`);
    }
    texts[key] = text;
  }
  const keys = Object.keys(texts);
  const changed = keys.length !== Object.keys(before).length || keys.some((key) => before[key] !== texts[key]);
  if (changed)
    refuse(
      field === 'labels'
        ? validateLabels(texts, FieldPath.of('metadata', 'labels'))
        : validateAnnotations(texts, FieldPath.of('metadata', 'annotation')),
    );
  return texts;
}

function refuse(errors: readonly FieldError[]): void {
  if (errors.length > 0) throw new Error(aggregate(errors));
}

function goType(value: JsonValue | undefined): string {
  if (value === undefined || value === null) return '<nil>';
  if (typeof value === 'string' || typeof value === 'boolean') return typeof value === 'string' ? 'string' : 'bool';
  if (typeof value === 'bigint') return 'int64';
  if (typeof value === 'number') return Number.isInteger(value) ? 'int64' : 'float64';
  return Array.isArray(value) ? '[]interface {}' : 'map[string]interface {}';
}
