import fc from 'fast-check';
import type { JsonObject, JsonValue } from '../../src/apimachinery/json/json.js';
import type { FuzzRequest } from './client.js';
import { type Kind, objectOf } from './fixtures.js';
import { anyEdit, metadataEdit, pathsOf, edited, type Edit, utf8 } from './mutations.js';
import { collection, pick } from './parts.js';

const OWN = pick(['w1', 'w2', 'new1']);
const MANAGERS = pick(['m', 'n', 'o']);

/** Removes a field or an item, so that its manager gives it up. */
export const drop: fc.Arbitrary<Edit> = fc.nat(1000).map((at): Edit => (object) => {
  const paths = pathsOf(object).filter(([first]) => first !== 'apiVersion' && first !== 'kind');
  const path = paths[at % paths.length];
  if (path === undefined) return object;
  return edited(object, path, (container, key) => {
    if (Array.isArray(container)) container.splice(Number(key), 1);
    else Reflect.deleteProperty(container, key);
  });
});

/** Changes a value to another one of the same kind, which causes conflicts. */
const change: fc.Arbitrary<Edit> = fc.tuple(fc.nat(1000), fc.nat(3)).map(([at, by]): Edit => (object) => {
  const paths = pathsOf(object).filter(
    ([first, second]) => first !== 'apiVersion' && first !== 'kind' && second !== 'name',
  );
  const path = paths[at % paths.length];
  if (path === undefined) return object;
  return edited(object, path, (container, key) => {
    container[key] = changed(container[key] as JsonValue, by);
  });
});

/** Returns another value of the same kind. */
export function changed(value: JsonValue, by: number): JsonValue {
  if (typeof value === 'string')
    return /^[A-Za-z0-9+/]+=*$/.test(value) && value.length % 4 === 0 ? 'MTIz' : `${value}${String(by)}`;
  if (typeof value === 'number') return value + by;
  if (typeof value === 'boolean') return !value;
  if (Array.isArray(value)) return [...value, ...value];
  return typeof value === 'object' && value !== null ? { ...value, [`k${String(by)}`]: 'v' } : value;
}

const edits = fc
  .array(
    fc.oneof(
      { weight: 6, arbitrary: change },
      { weight: 5, arbitrary: drop },
      { weight: 1, arbitrary: anyEdit },
      { weight: 1, arbitrary: metadataEdit },
    ),
    { maxLength: 3 },
  )
  .map(
    (list): Edit =>
      (object) =>
        list.reduce((value, one) => one(value), object),
  );

/** Applies, and updates between them, of a few objects by a few managers: conflicts, and fields that are given up, taken over, and shared. */
export function ownership(kinds: readonly Kind[]): fc.Arbitrary<FuzzRequest> {
  const apply = (kind: Kind): fc.Arbitrary<FuzzRequest> =>
    fc
      .tuple(OWN, MANAGERS, edits, pick(['', '', '&force=true', '&force=false', '&dryRun=All']))
      .map(([name, manager, edit, more]) => ({
        method: 'PATCH',
        path: `${collection(kind)}/${name}?fieldManager=${manager}${more}`,
        headers: { 'content-type': 'application/apply-patch+yaml' },
        body: utf8(JSON.stringify(edit(objectOf(kind, name)))),
      }));
  const update = (kind: Kind): fc.Arbitrary<FuzzRequest> =>
    fc.tuple(OWN, MANAGERS, edits).map(([name, manager, edit]) => ({
      method: 'PUT',
      path: `${collection(kind)}/${name}?fieldManager=${manager}`,
      headers: { 'content-type': 'application/json' },
      body: utf8(JSON.stringify(withVersion(edit(objectOf(kind, name))))),
    }));
  const merge = (kind: Kind): fc.Arbitrary<FuzzRequest> =>
    fc.tuple(OWN, MANAGERS, edits).map(([name, manager, edit]) => ({
      method: 'PATCH',
      path: `${collection(kind)}/${name}?fieldManager=${manager}`,
      headers: { 'content-type': 'application/merge-patch+json' },
      body: utf8(JSON.stringify(edit(objectOf(kind, name)))),
    }));
  return pick(kinds).chain((kind) =>
    fc.oneof(
      { weight: 8, arbitrary: apply(kind) },
      { weight: 3, arbitrary: merge(kind) },
      { weight: 1, arbitrary: update(kind) },
    ),
  );
}

/** Returns the object with its current resourceVersion, if its metadata can hold one. */
export function withVersion(object: JsonObject): JsonObject {
  const { metadata } = object;
  return typeof metadata === 'object' && metadata !== null && !Array.isArray(metadata)
    ? { ...object, metadata: { ...metadata, resourceVersion: '{rv}' } }
    : object;
}
