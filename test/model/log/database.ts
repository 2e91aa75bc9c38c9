/** A document of the log: one batch. */
export interface Batch {
  /** The id of the attempt to append it; a retry has the same. */
  readonly id: number;
  readonly first: number;
  readonly writes: readonly Write[];
  /** The last revision of a gap, which has no writes. */
  readonly last?: number;
  /** The time according to the writer, for human readers. */
  readonly date: number;
  readonly projected: boolean;
}

export interface Write {
  readonly op: number;
  readonly key: string;
  readonly creates: boolean;
  readonly deletes: boolean;
}

export interface State {
  readonly revision: number;
  readonly deleted: boolean;
}

/** The contents of MongoDB at one moment. Immutable. */
export interface Version {
  readonly time: number;
  readonly log: ReadonlyMap<number, Batch>;
  readonly floor: number;
  /** Everything up to this revision is projected, and its events are no longer delivered. */
  readonly base: number;
  readonly mark: { readonly revision: number; readonly moment: number };
  readonly projection: ReadonlyMap<string, State>;
  /** Keys whose tombstones stay. */
  readonly held: ReadonlySet<string>;
}

export interface Ticket {
  readonly index: number;
  readonly term: number;
}

export const endOf = ({ first, writes, last }: Batch): number => last ?? first + writes.length - 1;

/** The entry of the truth for the revisions of a gap. */
const NOTHING: Write = { op: 0, key: '', creates: false, deletes: false };

const EMPTY: Version = {
  time: 0,
  log: new Map(),
  floor: 0,
  base: 0,
  mark: { revision: 0, moment: 0 },
  projection: new Map(),
  held: new Set(),
};

/**
 * A model of a replica set that writes single documents. A majority has the versions up to `majority`; a failover rolls back the rest. Each
 * version has its own time, which never goes back. `truth` is the log as an observer that never stops would read it.
 */
export class Database {
  private versions: Version[] = [EMPTY];
  private terms = [0];
  private majority = 0;
  private term = 0;
  private clock = 0;
  readonly truth: Write[] = [];
  private readonly firsts = new Set<number>();
  readonly violations: string[] = [];

  /** A majority read that is not linearizable: after an election it may show an earlier state, as far back as a deposed primary answers. */
  past(back: number): Version {
    return this.versions[Math.max(0, this.majority - back)] ?? EMPTY;
  }

  /** The state that linearizable reads show; its time is the reply's operationTime. */
  get settled(): Version {
    return this.versions[this.majority] ?? EMPTY;
  }

  get latest(): Version {
    return this.versions.at(-1) ?? EMPTY;
  }

  /** The newest time that any party can have observed. */
  get now(): number {
    return this.clock;
  }

  write(change: (version: Version) => Partial<Version>): Ticket {
    this.clock++;
    this.versions.push({ ...this.latest, ...change(this.latest), time: this.clock });
    this.terms.push(this.term);
    return { index: this.versions.length - 1, term: this.term };
  }

  /** Returns undefined if a document with this `_id` exists. */
  insert(batch: Batch): Ticket | undefined {
    if (this.latest.log.has(batch.first)) return undefined;
    return this.write(({ log }) => ({ log: new Map(log).set(batch.first, batch) }));
  }

  outcome({ index, term }: Ticket): 'pending' | 'durable' | 'lost' {
    if (this.terms[index] !== term) return 'lost';
    return index <= this.majority ? 'durable' : 'pending';
  }

  replicate(): void {
    if (this.majority + 1 >= this.versions.length) return;
    const before = this.settled;
    this.majority++;
    for (const [first, batch] of this.settled.log) if (!before.log.has(first)) this.record(batch);
  }

  failOver(jump: number): void {
    this.versions = this.versions.slice(0, this.majority + 1);
    this.terms = this.terms.slice(0, this.majority + 1);
    this.term++;
    this.pass(jump);
  }

  /** Lets time pass: the primary writes its periodic no-op. */
  pass(ticks: number): void {
    this.clock += ticks;
    this.write(() => ({}));
  }

  /** Returns the state of a key at a revision. */
  truly(key: string, revision: number): State | undefined {
    for (let at = revision; at > 0; at--) {
      const write = this.truth[at - 1];
      if (write?.key === key) return { revision: at, deleted: write.deletes };
    }
    return undefined;
  }

  private record(batch: Batch): void {
    const { truth, violations, firsts } = this;
    if (batch.first > truth.length + 1) violations.push(`there is nothing before ${batch.first}`);
    if (batch.first <= truth.length) {
      // Void: the revision was taken, and is below the floor. No reader may ever rely on it.
      if (!firsts.has(batch.first)) violations.push(`${batch.first} lies inside the range of another batch`);
      if (batch.first > this.settled.floor) violations.push(`revision ${batch.first} was taken again above the floor`);
      return;
    }
    firsts.add(batch.first);
    for (const write of batch.writes) {
      const earlier = truth.findIndex(({ op }) => op === write.op);
      if (earlier >= 0)
        violations.push(`write ${write.op} was applied at ${earlier + 1} and again at ${truth.length + 1}`);
      truth.push(write);
    }
    while (truth.length < endOf(batch)) truth.push(NOTHING);
  }
}
