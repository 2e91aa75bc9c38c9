import type { JsonValue } from '../apimachinery/json/json.js';
import type { Group, Taken } from '../asking/aggregates/plan.js';
import { SortedBag } from '../asking/aggregates/sorted-bag.js';
import type { Row, RowOrigin } from './row.js';

/** What an object is for a view. */
export interface Entry {
  /** Undefined if the object is in no row. */
  readonly group: { readonly id: string; readonly values: readonly JsonValue[] } | undefined;
  readonly contributions: Taken['contributions'];
  readonly origin: RowOrigin;
  /** Why an expression failed. */
  readonly error: string | undefined;
}

/** A change of a row. Events of one revision are in the order in which clients see them: rows that lose an object come first. */
export interface RowEvent {
  readonly type: 'ADDED' | 'MODIFIED' | 'DELETED';
  readonly revision: number;
  /** For DELETED the last state. */
  readonly row: Row;
  readonly before: Row | undefined;
}

export interface MachineOptions {
  /** Undefined for a view with fields, each row of which is one object. */
  readonly newGroup: ((values: readonly JsonValue[]) => Group) | undefined;
  /** True if there is exactly one row, also without objects. */
  readonly isWhole: boolean;
  readonly make: (values: readonly JsonValue[], origin: RowOrigin) => Row;
  readonly maxRows: number;
}

/** Where an object counts. */
interface Place {
  row: Row | undefined;
}

/** An object in a row, or beyond the bound. */
interface Member {
  readonly entry: Entry;
  readonly place: Place | undefined;
}

interface GroupState extends Place {
  readonly group: Group;
  /** When the objects of the group were created. */
  readonly ages: SortedBag<string>;
}

/** Turns changes of the source's objects into changes of rows. It knows no clock and waits for nothing. */
export class RowMachine {
  /** The rows by key. */
  readonly rows = new Map<string, Row>();
  /** The objects on which an expression fails, and why. */
  readonly failures = new Map<string, string>();
  /** The number of objects whose rows are beyond the bound. */
  beyond = 0;
  private readonly members = new Map<string, Member>();
  private readonly groups = new Map<string, GroupState>();

  constructor(private readonly options: MachineOptions) {
    if (options.isWhole) this.refresh(this.stateOf({ id: WHOLE, values: [] }), 0);
  }

  /** True if rows that were left out would have room now, if all objects were looked at again. */
  get hasRoom(): boolean {
    return this.beyond > 0 && this.rows.size < this.options.maxRows;
  }

  /** Applies a state of an object; undefined if it is gone. Returns what changes. */
  apply(revision: number, key: string, now: Entry | undefined): RowEvent[] {
    const before = this.members.get(key);
    if (now?.error === undefined) this.failures.delete(key);
    else this.failures.set(key, now.error);
    if (before !== undefined && before.place === undefined) this.beyond--;
    const entry = now?.group === undefined ? undefined : now;
    const isOfFields = this.options.newGroup === undefined;
    const events: RowEvent[] = [];
    const place = isOfFields
      ? this.replace(revision, before, entry, events)
      : this.regroup(revision, before, entry, events);
    if (entry === undefined) this.members.delete(key);
    else this.members.set(key, { entry, place });
    if (entry !== undefined && place === undefined) this.beyond++;
    return events;
  }

  /** A row of fields belongs to one object. */
  private replace(
    revision: number,
    before: Member | undefined,
    now: Entry | undefined,
    events: RowEvent[],
  ): Place | undefined {
    const { make, maxRows } = this.options;
    const old = before?.place?.row;
    if (now?.group === undefined || (old === undefined && this.rows.size >= maxRows)) {
      events.push(...this.change(revision, old, undefined));
      return undefined;
    }
    const row = make(now.group.values, now.origin);
    events.push(...this.change(revision, old, row));
    return { row };
  }

  private regroup(
    revision: number,
    before: Member | undefined,
    now: Entry | undefined,
    events: RowEvent[],
  ): GroupState | undefined {
    const left = before?.place as GroupState | undefined;
    if (before !== undefined && left !== undefined) {
      left.group.remove(before.entry.contributions);
      left.ages.remove(ageOf(before.entry));
    }
    const isLast = left !== undefined && left.group.members === 0 && now?.group?.id !== before?.entry.group?.id;
    if (isLast) events.push(...this.refresh(left, revision, before?.entry.group?.id));
    const entered = now?.group === undefined ? undefined : this.stateOf(now.group);
    if (now !== undefined && entered !== undefined) {
      entered.group.add(now.contributions);
      entered.ages.add(ageOf(now), ageOf(now));
    }
    if (left !== undefined && left !== entered && !isLast) events.push(...this.refresh(left, revision));
    events.push(...this.refresh(entered, revision));
    return entered;
  }

  private stateOf({ id, values }: NonNullable<Entry['group']>): GroupState | undefined {
    const { newGroup, maxRows } = this.options;
    const known = this.groups.get(id);
    if (known !== undefined || newGroup === undefined || this.groups.size >= maxRows) return known;
    const state = { group: newGroup(values), ages: new SortedBag<string>(), row: undefined };
    this.groups.set(id, state);
    return state;
  }

  /** Makes the row of a group anew, or removes it with its last object. */
  private refresh(state: GroupState | undefined, revision: number, id = WHOLE): RowEvent[] {
    if (state === undefined) return [];
    const { isWhole, make } = this.options;
    const isGone = state.group.members === 0 && !isWhole;
    if (isGone) this.groups.delete(id);
    const next = isGone ? undefined : make(state.group.row, { created: state.ages.first() });
    const events = this.change(revision, state.row, next);
    if (events.length > 0) state.row = next;
    return events;
  }

  private change(revision: number, before: Row | undefined, next: Row | undefined): RowEvent[] {
    if (next === undefined) {
      if (before === undefined) return [];
      this.rows.delete(before.key);
      return [{ type: 'DELETED', revision, row: before, before }];
    }
    if (before?.text === next.text) return [];
    this.rows.set(next.key, next);
    return [{ type: before === undefined ? 'ADDED' : 'MODIFIED', revision, row: next, before }];
  }
}

const WHOLE = '[]';

const ageOf = ({ origin: { created = '' } }: Entry): string => created;
