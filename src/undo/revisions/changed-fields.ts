import type { JsonObject } from '../../apimachinery/json/json.js';
import { compare } from '../../structured-merge-diff/compare.js';
import { formatPath } from '../../structured-merge-diff/fieldpath/path-element.js';
import { DEDUCED, type Type } from '../../structured-merge-diff/schema/schema.js';

/** The maximum number of paths that a revision lists. */
const MAX_PATHS = 100;

/** Fields that change with every write. */
const BOOKKEEPING = /^\.metadata\.(?:managedFields|resourceVersion|generation)(?:[.[]|$)/;

export interface ChangedFields {
  /** Paths as in the messages about managed fields, such as `.spec.replicas`. */
  readonly paths: readonly string[];
  /** How many further ones there are. */
  readonly more: number;
}

/** Returns the fields in which two states of an object differ. `type`: the merge schema of the kind, if it is known. */
export function changedFields(before: JsonObject, after: JsonObject, type: Type = DEDUCED): ChangedFields {
  const paths = new Set<string>();
  const { removed, modified, added } = compare(type, before, after);
  for (const set of [removed, modified, added]) {
    set.leaves().forEach((path) => {
      const text = formatPath(path);
      if (!BOOKKEEPING.test(text)) paths.add(text);
    });
  }
  const sorted = [...paths].sort();
  return { paths: sorted.slice(0, MAX_PATHS), more: Math.max(0, sorted.length - MAX_PATHS) };
}
