import {
  type FieldError,
  type FieldPath,
  forbidden,
  invalid,
  required,
} from '../../../../../apimachinery/meta/field-error.js';
import { type JsonObject, objectAt } from '../../../../../apimachinery/json/json.js';
import { objectsOf, textOf } from '../../../../../apimachinery/json/values.js';
import { filePathErrors, integerOf, modeErrors } from '../../../shared/checks.js';
import { needs } from '../../../shared/volume-sources.js';
import { downwardFileErrors } from '../containers/field-refs.js';

const SOURCES = ['secret', 'configMap', 'downwardAPI', 'serviceAccountToken'];
const CONFLICT = 'conflicting duplicate paths';

/** Validates the projection of a key of a Secret or ConfigMap to a file. */
export function keyErrors(item: JsonObject, path: FieldPath): FieldError[] {
  const errors = needs('key', 'path')(item, path, '');
  errors.push(...filePathErrors(textOf(item['path']), path.child('path')));
  return [...errors, ...modeErrors(item['mode'], path.child('mode'))];
}

/** Reports whether a path occurred before, and records it. The empty path is ignored. */
function taken(path: string, paths: Set<string>): boolean {
  if (path === '') return false;
  const had = paths.has(path);
  paths.add(path);
  return had;
}

function keysErrors(source: JsonObject, at: FieldPath, whole: FieldPath, paths: Set<string>): FieldError[] {
  const name = textOf(source['name']);
  const errors = name === '' ? [required(at.child('name'))] : [];
  objectsOf(source['items']).forEach((item, i) => {
    errors.push(...keyErrors(item, at.child('items').index(i)));
    if (taken(textOf(item['path']), paths)) errors.push(invalid(whole, name, CONFLICT));
  });
  return errors;
}

function downwardErrors(source: JsonObject, at: FieldPath, whole: FieldPath, paths: Set<string>): FieldError[] {
  return objectsOf(source['items']).flatMap((file) => {
    const errors = downwardFileErrors(file, at);
    const where = textOf(file['path']);
    return taken(where, paths) ? [...errors, invalid(whole, where, CONFLICT)] : errors;
  });
}

function tokenErrors(source: JsonObject, at: FieldPath, whole: FieldPath): FieldError[] {
  const expires = integerOf(source['expirationSeconds']) ?? 0;
  const path = at.child('expirationSeconds');
  const errors: FieldError[] = [];
  if (expires < 600) errors.push(invalid(path, expires, 'may not specify a duration less than 10 minutes'));
  if (expires > 2 ** 32) errors.push(invalid(path, expires, 'may not specify a duration larger than 2^32 seconds'));
  const where = textOf(source['path']);
  if (where === '') return [...errors, required(whole.child('path'))];
  return [...errors, ...filePathErrors(where, whole.child('path'))];
}

/** Validates a projected volume. */
export function projectedErrors(source: JsonObject, path: FieldPath): FieldError[] {
  const errors = modeErrors(source['defaultMode'], path.child('defaultMode'));
  const paths = new Set<string>();
  objectsOf(source['sources']).forEach((one, i) => {
    const at = path.child('sources').index(i);
    for (const name of ['secret', 'configMap']) {
      const keys = objectAt(one, name);
      if (keys !== undefined) errors.push(...keysErrors(keys, at.child(name), path, paths));
    }
    const downward = objectAt(one, 'downwardAPI');
    if (downward !== undefined) errors.push(...downwardErrors(downward, at.child('downwardAPI'), path, paths));
    const token = objectAt(one, 'serviceAccountToken');
    if (token !== undefined) errors.push(...tokenErrors(token, at.child('serviceAccountToken'), path));
    const count = SOURCES.filter((name) => objectAt(one, name) !== undefined).length;
    if (count > 1) errors.push(forbidden(at, 'may not specify more than 1 volume type per source'));
  });
  return errors;
}
