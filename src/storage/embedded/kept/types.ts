import { isEncrypted } from '../../encryption/transformer.js';
import type { KeptPolicy, PolicyState } from '../../kept/interfaces.js';
import { changePolicy, defaultPolicy, effectivePolicy, KEEP_NOTHING, samePolicy } from '../../kept/policies.js';
import type { Environment, Operation } from '../environment.js';
import { DELETION } from './rows.js';

interface Amount {
  count: number;
  bytes: number;
}

/** What the history knows of a type: the row of `types`. */
interface TypeRow {
  /** Absent: the default. */
  readonly state?: PolicyState | undefined;
  readonly revisions: Amount;
  readonly deleted: Amount;
  readonly cutAt?: number | undefined;
  /** The number of rows of current states, and of states that were purged in the window. */
  readonly current: number;
  readonly purged: number;
}

const EMPTY: TypeRow = {
  revisions: { count: 0, bytes: 0 },
  deleted: { count: 0, bytes: 0 },
  current: 0,
  purged: 0,
};

/** The policies and counts of all types, which only this process changes: in memory, and in the table `types`. */
export class KeptTypes {
  private readonly rows = new Map<string, TypeRow>();

  constructor(private readonly environment: Environment) {
    for (const { key, value } of environment.rows('types', Buffer.from([0]), undefined))
      this.rows.set(key.toString(), JSON.parse(value.toString()) as TypeRow);
  }

  get names(): readonly string[] {
    return [...this.rows.keys()];
  }

  of(resource: string): TypeRow {
    return this.rows.get(resource) ?? EMPTY;
  }

  stateOf(resource: string, now: number): PolicyState {
    const state = this.of(resource).state ?? { policy: defaultPolicy(resource), isDefault: true, earlier: undefined };
    return state.earlier !== undefined && now >= state.earlier.until ? { ...state, earlier: undefined } : state;
  }

  /** Returns the policy by which a state goes: what is encrypted is not kept by default. */
  policyFor(resource: string, now: number, bytes?: Uint8Array): KeptPolicy {
    const state = this.stateOf(resource, now);
    if (state.isDefault && state.earlier === undefined && bytes !== undefined && isEncrypted(bytes))
      return KEEP_NOTHING;
    return effectivePolicy(state, now);
  }

  /** The bytes of the deletions of all types without a policy of their own. */
  get unclaimedBytes(): number {
    let bytes = 0;
    for (const { state, deleted } of this.rows.values()) if (state?.isDefault ?? true) bytes += deleted.bytes;
    return bytes;
  }

  /** Returns the types whose policy holds only for some time, or was set. */
  begin(): TypeChanges {
    return new TypeChanges(this);
  }

  /** Records rows that are on disk. */
  committed(rows: ReadonlyMap<string, TypeRow>): void {
    for (const [resource, row] of rows) this.rows.set(resource, row);
  }

  async setPolicy(resource: string, policy: KeptPolicy | undefined, now: number): Promise<void> {
    const before = this.stateOf(resource, now);
    const next = policy ?? defaultPolicy(resource);
    const isDefault = policy === undefined;
    if (samePolicy(before.policy, next) && before.isDefault === isDefault) return;
    const changes = this.begin();
    changes.set(resource, { state: changePolicy(before, next, now, isDefault) });
    await this.environment.commit(changes.operations());
    changes.done();
  }
}

/** Changes of some types, part of one transaction. */
export class TypeChanges {
  private readonly rows = new Map<string, TypeRow>();

  constructor(private readonly types: KeptTypes) {}

  of(resource: string): TypeRow {
    return this.rows.get(resource) ?? this.types.of(resource);
  }

  set(resource: string, part: Partial<TypeRow>): void {
    this.rows.set(resource, { ...this.of(resource), ...part });
  }

  /** Counts a state of a kind: `sign` 1 if it is kept, -1 if it goes. */
  count(resource: string, kind: number, sign: 1 | -1, bytes: number): void {
    const name = kind === DELETION ? 'deleted' : 'revisions';
    const before = this.of(resource)[name];
    this.set(resource, { [name]: { count: before.count + sign, bytes: before.bytes + sign * bytes } });
  }

  operations(): Operation[] {
    return [...this.rows].map(([resource, row]) => ({
      table: 'types',
      key: Buffer.from(resource),
      value: Buffer.from(JSON.stringify(row)),
    }));
  }

  done(): void {
    this.types.committed(this.rows);
  }
}
