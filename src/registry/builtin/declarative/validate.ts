import { deepEqual, isObject, type JsonValue, objectsOf } from '../../../apimachinery/json/json.js';
import { type FieldError, FieldPath, invalid, required } from '../../../apimachinery/meta/field-error.js';
import type { KubeObject } from '../../../apimachinery/meta/meta.js';
import type { Marker } from './markers.js';

type Value = JsonValue | undefined;

/** A value, its previous value, and whether that is known: items of lists are not matched with former ones. */
interface ValueAtPath {
  readonly path: FieldPath;
  readonly value: Value;
  readonly old: Value;
  readonly correlated: boolean;
}

/** Returns the errors that the markers report. On an update (`old` is given), unchanged values are not validated again. */
export function validateDeclaratively(
  markers: readonly Marker[],
  object: KubeObject,
  old: KubeObject | undefined,
): FieldError[] {
  const root = { path: FieldPath.empty, value: object, old, correlated: old !== undefined };
  return markers.flatMap((marker) => [...valuesAt(marker.path, root)].flatMap((place) => check(marker, place)));
}

function* valuesAt([step, ...rest]: readonly string[], place: ValueAtPath): Iterable<ValueAtPath> {
  const { path, value, old, correlated } = place;
  if (correlated && isSame(value, old)) return;
  if (step === undefined) {
    yield place;
  } else if (step === '*') {
    for (const [i, item] of (Array.isArray(value) ? value : []).entries()) {
      yield* valuesAt(rest, { path: path.index(i), value: item, old: undefined, correlated: false });
    }
  } else {
    const member = { path: path.child(step), value: memberOf(value, step), old: memberOf(old, step), correlated };
    yield* valuesAt(rest, member);
  }
}

const memberOf = (value: Value, name: string): Value => (isObject(value) ? value[name] : undefined);

/** Reports whether a value is absent or empty, which Go does not distinguish. */
const isEmpty = (value: Value): boolean =>
  value === undefined || value === null || value === '' || (Array.isArray(value) && value.length === 0);

const isSame = (a: Value, b: Value): boolean =>
  (isEmpty(a) && isEmpty(b)) || (a !== undefined && b !== undefined && deepEqual(a, b));

function check({ rule }: Marker, { path, value, old, correlated }: ValueAtPath): FieldError[] {
  if (rule.name === 'required') return isEmpty(value) ? [required(path)] : [];
  const present = typesOf(value, rule.types);
  if (present.length < 2) return [];
  if (correlated && !isEmpty(old) && deepEqual(present, typesOf(old, rule.types))) return [];
  const name = (type: string): string => `conditions[{"type": "${type}"}]`;
  const all = rule.types.map((type) => `\`${name(type)}\``).join(', ');
  return [invalid(path, `{${present.map(name).join(', ')}}`, `must specify at most one of: ${all}`)];
}

const typesOf = (conditions: Value, types: readonly string[]): string[] =>
  types.filter((wanted) => objectsOf(conditions).some(({ type }) => type === wanted));
