import { goKind } from '../apimachinery/json/decode.js';
import { type JsonObject, textAt } from '../apimachinery/json/json.js';
import { newInternalError } from '../apimachinery/meta/errors.js';
import { formatGroupVersionKind, parseGroupVersion } from '../apimachinery/meta/meta.js';

/** Formats the kind of an object, `group/version, Kind=Kind`, as Go does. */
export function printedKind(object: JsonObject): string {
  const { group, version } = parseGroupVersion(textAt(object, 'apiVersion')) ?? { group: '', version: '' };
  return formatGroupVersionKind({ group, version, kind: textAt(object, 'kind') });
}

/** Verifies that apiVersion and kind of a patched object are strings, because they determine how it is decoded. Throws ApiError. */
export function checkTypeMeta(patched: JsonObject): void {
  for (const field of ['apiVersion', 'kind']) {
    const given = patched[field] ?? null;
    if (given === null || typeof given === 'string') continue;
    const why = `json: cannot unmarshal ${goKind(given)} into Go struct field .${field} of type string`;
    throw newInternalError(`couldn't get version/kind; json parse error: ${why}`);
  }
}
