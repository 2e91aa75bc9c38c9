import { deepEqual, type JsonValue } from '../apimachinery/json/json.js';
import { compare, type Comparison } from './compare.js';
import { FieldSet } from './fieldpath/field-set.js';
import { mergeValues } from './merge.js';
import type { PathElement } from './fieldpath/path-element.js';
import { reconcile } from './reconcile.js';
import { removeItems } from './remove.js';
import type { Type } from './schema/schema.js';
import { toFieldSet } from './to-field-set.js';

/** A value that has been validated against its type, with the version of both. */
export interface TypedValue {
  readonly version: string;
  readonly type: Type;
  readonly value: JsonValue;
}

/** The fields that a manager owns, in the version in which it last wrote. */
export interface VersionedSet {
  readonly set: FieldSet;
  readonly apiVersion: string;
  /** True for apply, false for update. */
  readonly applied: boolean;
}

/** The owned fields by manager. */
export type Managers = Map<string, VersionedSet>;

/**
 * Converts a value to another version. Returns undefined if the version does not exist (any more). Throws any other error with a message
 * that begins with `failure`.
 */
export type Convert = (value: TypedValue, version: string, failure: string) => TypedValue | undefined;

export interface Conflict {
  readonly manager: string;
  readonly path: readonly PathElement[];
}

/** An apply would change fields that other managers own. Sorted by manager, then in the order of the set. */
export class ConflictsError extends Error {
  override readonly name = 'ConflictsError';
  constructor(readonly conflicts: readonly Conflict[]) {
    super(`${String(conflicts.length)} conflicts`);
  }
}

const PRUNING = 'failed to prune fields: ';
const ADDING_BACK = `${PRUNING}failed add back owned items: `;

/** Computes the owners of fields after a change, and the result of an apply. Keeps caches, but no other state. */
export class Updater {
  /** Sets adapted to the current schema, by type. Sets themselves come from a cache, so most of them occur repeatedly. */
  private readonly reconciled = new WeakMap<Type, WeakMap<FieldSet, FieldSet>>();

  constructor(
    private readonly convert: Convert,
    /** Returns the paths that no manager can own in a version. */
    private readonly ignored: (version: string) => FieldSet | undefined,
  ) {}

  /** Updates the owners after any change except an apply. Returns the new managers; does not modify `managers`. */
  update(live: TypedValue, next: TypedValue, managers: Managers, manager: string): Managers {
    const reconciled = this.reconcileManagers(live, managers);
    const comparison = this.resolveConflicts(live, next, reconciled, manager, 'take over');
    const before = reconciled.get(manager)?.set ?? FieldSet.empty;
    const owned = before.difference(comparison.removed).union(comparison.modified).union(comparison.added);
    const set = this.filter(owned, next.version);
    if (set.isEmpty) reconciled.delete(manager);
    else reconciled.set(manager, { set, apiVersion: next.version, applied: false });
    return reconciled;
  }

  /**
   * Merges a configuration. `value` is undefined if that changes nothing. Throws ConflictsError unless `force` is set.
   * Does not modify `managers`.
   */
  apply(
    live: TypedValue,
    config: TypedValue,
    managers: Managers,
    manager: string,
    force: boolean,
  ): { value: TypedValue | undefined; managers: Managers } {
    const reconciled = this.reconcileManagers(live, managers);
    const merged = { ...live, value: mergeValues(live.type, live.value, config.value) ?? null };
    const last = reconciled.get(manager);
    const set = this.filter(toFieldSet(config.type, config.value), config.version);
    reconciled.set(manager, { set, apiVersion: config.version, applied: true });
    const value = this.prune(merged, reconciled, config.version, set, last);
    this.resolveConflicts(live, value, reconciled, manager, force ? 'take over' : 'refuse');
    return { value: deepEqual(live.value, value.value, 'as floats') ? undefined : value, managers: reconciled };
  }

  /** Returns the fields of `value` that have the same value in `other`. */
  unchanged(type: Type, value: JsonValue, other: JsonValue): FieldSet {
    const { removed, modified, added } = compare(type, value, other);
    return toFieldSet(type, value).difference(modified).difference(added).difference(removed);
  }

  private filter(set: FieldSet, version: string): FieldSet {
    const ignored = this.ignored(version);
    return ignored === undefined ? set : set.recursiveDifference(ignored);
  }

  /** Removes fields that the change sets or removes from all other managers, or refuses to set them. Modifies `managers`. */
  private resolveConflicts(
    live: TypedValue,
    next: TypedValue,
    managers: Managers,
    self: string,
    onConflict: 'take over' | 'refuse',
  ): Comparison {
    const own = this.filterComparison(compare(live.type, live.value, next.value), next.version);
    const effects = new Map<string, Effect>([[next.version, effectOf(own)]]);
    const conflicts = new Map<string, FieldSet>();
    for (const [manager, owned] of managers) {
      if (manager === self) continue;
      const effect = effects.get(owned.apiVersion) ?? this.effectIn(live, next, owned.apiVersion);
      if (effect === undefined) {
        managers.delete(manager);
        continue;
      }
      effects.set(owned.apiVersion, effect);
      const conflict = owned.set.intersection(effect.set);
      if (!conflict.isEmpty) conflicts.set(manager, conflict);
    }
    if (onConflict === 'refuse' && conflicts.size > 0) throw new ConflictsError(listConflicts(conflicts));
    for (const [manager, owned] of managers) {
      const lost = conflicts.get(manager);
      const removed = manager === self ? undefined : effects.get(owned.apiVersion)?.removed;
      let set = lost === undefined ? owned.set : owned.set.difference(lost);
      if (removed !== undefined) set = set.difference(removed);
      if (set.isEmpty) managers.delete(manager);
      else if (set !== owned.set) managers.set(manager, { ...owned, set });
    }
    return own;
  }

  private effectIn(live: TypedValue, next: TypedValue, version: string): Effect | undefined {
    const before = this.convert(live, version, 'failed to convert old object: ');
    const after = before === undefined ? undefined : this.convert(next, version, 'failed to convert new object: ');
    if (before === undefined || after === undefined) return undefined;
    return effectOf(this.filterComparison(compare(before.type, before.value, after.value), version));
  }

  private filterComparison(comparison: Comparison, version: string): Comparison {
    const ignored = this.ignored(version);
    if (ignored === undefined) return comparison;
    return {
      removed: comparison.removed.recursiveDifference(ignored),
      modified: comparison.modified.recursiveDifference(ignored),
      added: comparison.added.recursiveDifference(ignored),
    };
  }

  /** Returns a copy of the managers whose versions exist, adapted to the current schema. */
  private reconcileManagers(live: TypedValue, managers: Managers): Managers {
    const out: Managers = new Map();
    for (const [manager, owned] of managers) {
      const type = owned.apiVersion === live.version ? live.type : this.convert(live, owned.apiVersion, '')?.type;
      if (type === undefined) continue;
      const set = this.reconcileSet(type, owned.set);
      out.set(manager, set === owned.set ? owned : { ...owned, set });
    }
    return out;
  }

  private reconcileSet(type: Type, set: FieldSet): FieldSet {
    let known = this.reconciled.get(type);
    if (known === undefined) this.reconciled.set(type, (known = new WeakMap<FieldSet, FieldSet>()));
    const before = known.get(set);
    if (before !== undefined) return before;
    const reconciled = reconcile(type, set);
    known.set(set, reconciled);
    return reconciled;
  }

  /** Removes the fields that the manager applied last time but not now, unless another manager owns them. */
  private prune(
    merged: TypedValue,
    managers: Managers,
    version: string,
    set: FieldSet,
    last: VersionedSet | undefined,
  ): TypedValue {
    if (last === undefined || last.set.isEmpty) return merged;
    // If everything is applied again, nothing is removed. Skip the walks that would find that out, but not conversions, which may fail.
    const isAlone = ({ apiVersion }: VersionedSet): boolean => apiVersion === version;
    if (isAlone(last) && last.set.isSubsetOf(set) && [...managers.values()].every(isAlone) && !hasBareItems(last.set))
      return merged;
    const converted = this.convert(
      merged,
      last.apiVersion,
      `${PRUNING}failed to convert merged object to last applied version: `,
    );
    if (converted === undefined) return merged;
    const { type } = converted;
    const lastSet = last.set.withNamedFields(type);
    const removed = { ...converted, value: removeItems(type, converted.value, lastSet) };
    const owned = this.addBackOwned(converted, removed, managers);
    const back = this.addBackDangling(converted, owned, last.apiVersion, lastSet);
    const pruned = this.convert(back, version, PRUNING);
    if (pruned === undefined) throw new Error(`failed to prune fields: no version ${version}`);
    return pruned;
  }

  /** Adds back removed fields that other managers own or that are applied now. */
  private addBackOwned(merged: TypedValue, pruned: TypedValue, managers: Managers): TypedValue {
    const sets = new Map<string, FieldSet[]>([[merged.version, []]]);
    for (const { apiVersion, set } of managers.values()) {
      const known = sets.get(apiVersion);
      if (known === undefined) sets.set(apiVersion, [set]);
      else known.push(set);
    }
    let whole = merged;
    let out = pruned;
    for (const [version, owned] of sets) {
      // The pruned object's version comes first: a conversion to another version may need fields that were removed.
      if (owned.length === 0) continue;
      const set = FieldSet.unionOf(owned);
      const convertedWhole = this.convert(
        whole,
        version,
        `${ADDING_BACK}failed to convert merged object at version ${version}: `,
      );
      if (convertedWhole === undefined) continue;
      whole = convertedWhole;
      const convertedOut = this.convert(
        out,
        version,
        `${ADDING_BACK}failed to convert pruned object at version ${version}: `,
      );
      if (convertedOut === undefined) continue;
      const { type, value } = whole;
      const kept = namedSet(type, convertedOut.value).union(set.withNamedFields(type));
      out = { ...whole, value: removeItems(type, value, namedSet(type, value).difference(kept)) };
    }
    return out;
  }

  /** Adds back removed fields that the manager did not own: those without an owner, and those inside a removed item. */
  private addBackDangling(merged: TypedValue, pruned: TypedValue, version: string, last: FieldSet): TypedValue {
    const failure = `${PRUNING}failed add back dangling items: failed to convert pruned object to last applied version: `;
    const converted = this.convert(pruned, version, failure);
    if (converted === undefined) return merged;
    const { type, value } = merged;
    const gone = namedSet(type, value).difference(namedSet(type, converted.value)).intersection(last);
    return { ...merged, value: removeItems(type, value, gone) };
  }
}

/**
 * Reports whether the set has items without any field, because all their keys are defaults. Their contents have no
 * owner and are removed when the items are applied again; an item that loses all of its contents is removed as well.
 */
function hasBareItems(set: FieldSet): boolean {
  for (const { element, children } of set.nodes)
    if (children === undefined ? element.keyNames !== undefined : hasBareItems(children)) return true;
  return false;
}

const namedSet = (type: Type, value: JsonValue): FieldSet => toFieldSet(type, value).withNamedFields(type);

/** The effect of a change on other managers: the fields that got a value and those that were removed. */
interface Effect {
  readonly set: FieldSet;
  readonly removed: FieldSet;
}

const effectOf = ({ removed, modified, added }: Comparison): Effect => ({ removed, set: modified.union(added) });

function listConflicts(sets: ReadonlyMap<string, FieldSet>): Conflict[] {
  const conflicts: Conflict[] = [];
  for (const manager of [...sets.keys()].sort()) {
    sets.get(manager)?.forEach((path) => conflicts.push({ manager, path: [...path] }));
  }
  return conflicts;
}
