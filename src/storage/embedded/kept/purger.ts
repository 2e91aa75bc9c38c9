import { dueAt, longest } from '../../kept/policies.js';
import { afterPrefix, objectKey, revisionKey, type Environment, type Operation } from '../environment.js';
import {
  agePrefix,
  ageRow,
  DELETION,
  historyKey,
  historyRevision,
  keyPrefix,
  keyRow,
  readAge,
  readKeyValue,
  rowKey,
  SUPERSEDED,
  type AgedRow,
} from './rows.js';
import type { KeptTypes, TypeChanges } from './types.js';

/** The number of states that go in one step. */
const STEP = 200;

export interface PurgerOptions {
  readonly environment: Environment;
  readonly types: KeptTypes;
  /** The maximum bytes of the deletions of all types without a policy of their own. */
  readonly limitBytes: number;
}

/** Removes states from the history, the oldest first (docs/design/undo.md, "Purging"). */
export class Purger {
  /** Objects that may have more superseded states than their policy keeps. */
  private grown = new Map<string, { readonly resource: string; readonly key: string }>();
  /** For each type whose objects are to be looked at once: where to go on. */
  private readonly sweeps = new Map<string, Buffer>();

  constructor(private readonly options: PurgerOptions) {
    for (const resource of options.types.names) this.sweep(resource);
  }

  /** Looks at all objects of a type once, because its policy is another one. */
  sweep(resource: string): void {
    this.sweeps.set(resource, keyPrefix(resource, '').subarray(0, -1));
  }

  grew(objects: readonly { readonly resource: string; readonly key: string }[]): void {
    for (const object of objects) this.grown.set(`${object.resource}\0${object.key}`, object);
  }

  /** Purges some of what is due at a time; false if nothing is left. */
  async some(now: number): Promise<boolean> {
    const { environment, types } = this.options;
    environment.refresh();
    const removal = new Removal(environment, types);
    for (const resource of types.names) {
      this.takeDue(removal, resource, now);
      this.takeCut(removal, resource, now);
    }
    this.takeUnclaimed(removal, now);
    const swept = this.takeBeyondNumber(removal, now);
    await removal.commit();
    for (const key of swept) this.grown.delete(key);
    return removal.isFull || this.grown.size > 0 || this.sweeps.size > 0;
  }

  private takeDue(removal: Removal, resource: string, now: number): void {
    const policy = this.options.types.policyFor(resource, now);
    for (const kind of [SUPERSEDED, DELETION]) {
      for (const row of removal.oldest(resource, kind)) {
        if (now < dueAt({ deletion: kind === DELETION, at: row.at }, policy)) break;
        removal.take(row);
      }
    }
  }

  /** Takes the oldest beyond the bytes of the type's own policy. */
  private takeCut(removal: Removal, resource: string, now: number): void {
    const { maxBytes } = this.options.types.policyFor(resource, now);
    if (maxBytes === 0) return;
    for (const kind of [SUPERSEDED, DELETION]) {
      for (const row of removal.oldest(resource, kind)) {
        const { revisions, deleted } = removal.changes.of(resource);
        if (revisions.bytes + deleted.bytes <= maxBytes) break;
        removal.take(row);
        removal.changes.set(resource, { cutAt: now });
      }
    }
  }

  /** Takes the oldest deletions of types without a policy, beyond the bytes of all of them. */
  private takeUnclaimed(removal: Removal, now: number): void {
    const { types, limitBytes } = this.options;
    let bytes = types.unclaimedBytes;
    if (bytes <= limitBytes) return;
    const heads = types.names
      .filter((resource) => types.stateOf(resource, now).isDefault)
      .map((resource) => {
        const rows = removal.oldest(resource, DELETION);
        return { rows, next: rows.next() };
      });
    while (bytes > limitBytes && !removal.isFull) {
      let oldest: { readonly head: (typeof heads)[number]; readonly row: AgedRow } | undefined;
      for (const head of heads) {
        if (head.next.done !== true && (oldest === undefined || head.next.value.at < oldest.row.at))
          oldest = { head, row: head.next.value };
      }
      if (oldest === undefined) return;
      const { head, row } = oldest;
      removal.take(row);
      removal.changes.set(row.resource, { cutAt: now });
      bytes -= row.bytes;
      head.next = head.rows.next();
    }
  }

  /** Takes superseded states of objects that have more than their policy keeps. Returns the objects that are done. */
  private takeBeyondNumber(removal: Removal, now: number): string[] {
    const { environment, types } = this.options;
    const done: string[] = [];
    for (const [resource, from] of this.sweeps) {
      if (types.policyFor(resource, now).maxRevisionsPerObject === 0) {
        this.sweeps.delete(resource);
        continue;
      }
      let count = 0;
      let last: Buffer | undefined;
      for (const { key: id } of environment.rows('historyKeys', from, afterPrefix(Buffer.from(`${resource}\0`)))) {
        const key = id.toString('utf8', Buffer.byteLength(resource) + 1, id.length - 9);
        this.grew([{ resource, key }]);
        last = id;
        if (++count === STEP) break;
      }
      if (count < STEP || last === undefined) this.sweeps.delete(resource);
      else this.sweeps.set(resource, Buffer.concat([last, Buffer.from([0])]));
    }
    for (const [id, { resource, key }] of this.grown) {
      if (removal.isFull) break;
      const { maxRevisionsPerObject } = types.policyFor(resource, now);
      const rows = maxRevisionsPerObject === 0 ? [] : removal.of(resource, key, SUPERSEDED);
      const beyond = Math.max(0, rows.length - maxRevisionsPerObject);
      for (const row of rows.slice(0, Math.min(beyond, STEP))) removal.take(row);
      if (beyond <= STEP) done.push(id);
    }
    return done;
  }

  /** Returns the number of states that go when an earlier policy ends, counting up to a bound. */
  pending(resource: string, now: number): number {
    const { environment, types } = this.options;
    const { policy, earlier } = types.stateOf(resource, now);
    if (earlier === undefined) return 0;
    const holds = longest(policy, earlier.policy);
    let count = 0;
    for (const kind of [SUPERSEDED, DELETION]) {
      for (const row of agesOf(environment, resource, kind)) {
        const state = { deletion: kind === DELETION, at: row.at };
        if (now < dueAt(state, policy)) break;
        if (now < dueAt(state, holds)) count++;
        if (count === MAX_COUNTED) return count;
      }
    }
    return count;
  }
}

const MAX_COUNTED = 100_000;

export function* agesOf(environment: Environment, resource: string, kind: number): Generator<AgedRow, void, undefined> {
  const prefix = agePrefix(resource, kind);
  for (const { key, value } of environment.rows('historyAges', prefix, afterPrefix(prefix)))
    yield readAge(resource, kind, key, value);
}

/** States that go in one transaction. */
export class Removal {
  readonly changes: TypeChanges;
  /** The number of states. */
  count = 0;
  private readonly operations: Operation[] = [];
  private readonly taken = new Set<string>();

  constructor(
    private readonly environment: Environment,
    types: KeptTypes,
  ) {
    this.changes = types.begin();
  }

  get isFull(): boolean {
    return this.count >= STEP;
  }

  /** Yields the oldest states of a kind that are not taken, as long as there is room. */
  *oldest(resource: string, kind: number): Generator<AgedRow, void, undefined> {
    for (const row of agesOf(this.environment, resource, kind)) {
      if (this.isFull) return;
      if (!this.taken.has(nameOf(row))) yield row;
    }
  }

  /** Returns the states of an object that are not taken, the oldest first. */
  of(resource: string, key: string, only?: number): AgedRow[] {
    const prefix = keyPrefix(resource, key);
    const rows: AgedRow[] = [];
    for (const { key: id, value } of this.environment.rows('historyKeys', prefix, afterPrefix(prefix))) {
      const { kind, by } = readKeyValue(value);
      if ((kind !== SUPERSEDED && kind !== DELETION) || kind !== (only ?? kind)) continue;
      const ageKey = ageRow(resource, kind, by);
      const age = this.environment.row('historyAges', ageKey);
      const row = age && readAge(resource, kind, ageKey, age);
      if (row?.revision === historyRevision(id) && !this.taken.has(nameOf(row))) rows.push(row);
    }
    return rows;
  }

  take(row: AgedRow): void {
    const { resource, kind, revision, by, bytes } = row;
    this.count++;
    this.taken.add(nameOf(row));
    const id = historyKey(resource, revision);
    const stored = this.environment.row('history', id);
    const key = stored && rowKey(stored);
    this.operations.push({ table: 'history', key: id, value: undefined });
    this.operations.push({ table: 'historyAges', key: ageRow(resource, kind, by), value: undefined });
    this.changes.count(resource, kind, -1, bytes);
    if (key === undefined) return;
    this.operations.push({ table: 'historyKeys', key: keyRow(resource, key, revision), value: undefined });
    const newest = objectKey(resource, key);
    if (kind === DELETION && this.environment.row('deleted', newest)?.equals(revisionKey(revision)) === true)
      this.operations.push({ table: 'deleted', key: newest, value: undefined });
  }

  add(...operations: readonly Operation[]): void {
    this.operations.push(...operations);
    this.count++;
  }

  async commit(): Promise<void> {
    if (this.operations.length === 0) return;
    await this.environment.commit([...this.operations, ...this.changes.operations()]);
    this.changes.done();
  }
}

const nameOf = ({ resource, kind, by }: AgedRow): string => `${resource}\0${kind}\0${by}`;
