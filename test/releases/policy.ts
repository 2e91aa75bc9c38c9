/** An element that users may depend on: its stability, and whether its removal has been announced. */
export interface Element {
  readonly stage: string;
  readonly deprecated?: boolean;
}

/** The elements of one release, by kind and name. */
export type Elements = Readonly<Record<string, Readonly<Record<string, Element>>>>;

/** The fields of each type of the API, separated by spaces, by the name of the type in OpenAPI. */
export type Types = Readonly<Record<string, string>>;

const isStable = (type: string): boolean => !/\.v\d+(alpha|beta)\d+\./.test(type);

/**
 * Returns a line for each type or field of `release` that `current` lacks. Stable types stay; the others may go with their version. A type
 * that is there keeps its fields (rules 1 and 4a of the specification).
 */
export function removedFromApi(release: Types, current: Types): string[] {
  return Object.entries(release).flatMap(([type, fields]) => {
    const kept = current[type]?.split(' ');
    if (kept === undefined) return isStable(type) ? [`${type} is removed`] : [];
    const gone = fields.split(' ').filter((field) => !kept.includes(field));
    return gone.map((field) => `${type}: ${field} is removed`);
  });
}

/**
 * The number of releases for which an element keeps working after the one that announced its removal (rules 5, 9 and 11 of the
 * specification, whose longer terms in months are for releases that come every four months). Elements without an entry may be removed
 * without notice.
 */
const WINDOWS: Readonly<Record<string, Readonly<Record<string, number>>>> = {
  commands: { STABLE: 2, BETA: 1 },
  flags: { STABLE: 2, BETA: 1 },
  // A gate is announced when it becomes GA or DEPRECATED.
  gates: { GA: 2, DEPRECATED: 1, BETA: 1 },
  metrics: { STABLE: 3, BETA: 1 },
};

/** The number of releases that have an element at least (rule 11a). */
const LIFETIMES: typeof WINDOWS = { metrics: { STABLE: 4, BETA: 2 } };

/** Returns a line for each element that `current`, the release after the last of `releases` (oldest first), lacks before its window has passed. */
export function removedTooEarly(releases: readonly Elements[], current: Elements): string[] {
  const errors: string[] = [];
  for (const [kind, windows] of Object.entries(WINDOWS)) {
    const names = new Set(releases.flatMap((release) => Object.keys(release[kind] ?? {})));
    for (const name of names) {
      if (current[kind]?.[name] !== undefined) continue;
      const why = tooEarly(
        releases.map((release) => release[kind]?.[name]),
        windows,
        LIFETIMES[kind] ?? {},
      );
      if (why !== undefined) errors.push(`${kind}: ${name} ${why}`);
    }
  }
  return errors;
}

/** `history` is the element in each release, undefined where it does not exist. */
function tooEarly(
  history: readonly (Element | undefined)[],
  windows: Readonly<Record<string, number>>,
  lifetimes: Readonly<Record<string, number>>,
): string | undefined {
  const last = history.findLast((element) => element !== undefined);
  const wanted = windows[last?.stage ?? ''] ?? 0;
  if (wanted === 0) return undefined;
  const announced = history.findIndex((element) => element?.deprecated === true);
  if (announced < 0) return 'is removed without having been deprecated';
  // The release of the announcement counts: what 1.22 deprecates for 3 releases, 1.25 may remove.
  const kept = history.findLastIndex((element) => element !== undefined) - announced + 1;
  const lived = history.filter((element) => element !== undefined).length;
  const missing = Math.max(wanted - kept, (lifetimes[last?.stage ?? ''] ?? 0) - lived);
  return missing > 0 ? `is removed ${missing} release(s) too early` : undefined;
}
