import type { Random } from './random.js';

/** A log entry of the model. */
export interface Entry {
  /** Of the attempt to write, unique over all replicas. */
  readonly op: number;
  readonly key: string;
}

/** Everything that MongoDB holds at a moment. Never changed. */
export interface Version {
  readonly log: ReadonlyMap<number, Entry>;
  readonly floor: number;
  /** The revision of each object that exists. */
  readonly states: ReadonlyMap<string, number>;
}

export interface Transaction {
  readonly snapshot: number;
  readonly term: number;
  readonly locks: Set<string>;
  over: boolean;
}

export type Violation = string;

/** So many versions back may a majority read lie after a failover, */
const PAST = 4;
/** for so long. */
const UNSETTLED = 5;

const EMPTY: Version = { log: new Map(), floor: 1, states: new Map() };

/**
 * A replica set of the model: a line of versions, of which a majority has those up to `majority`. A failover takes back what
 * a majority does not have, and for a while majority reads may show the past: the new primary does not know yet what a majority has,
 * or the old one answers, which does not know that it is deposed. Transactions read one version, and whoever writes a document second
 * meets a write conflict.
 */
export class Database {
  private versions: Version[] = [EMPTY];
  /** The term that each version is of. */
  private terms = [0];
  /** The version that wrote a document last. */
  private modified = new Map<string, number>();
  private readonly open = new Set<Transaction>();
  private majority = 0;
  private term = 0;
  /** How many more times the set replicates until no majority read shows the past. */
  private unsettled = 0;
  /** All entries that a majority ever had, trimmed or not. */
  readonly durable = new Map<number, Entry>();
  readonly violations: Violation[] = [];

  /** `showsPast`: whether majority reads may show the past after a failover. */
  constructor(private readonly showsPast: boolean) {}

  /** What a majority has, as linearizable reads show it. */
  get settled(): Version {
    return this.versions[this.majority] ?? EMPTY;
  }

  /** What a majority read shows. */
  majorityRead(random: Random): Version {
    const back = this.unsettled > 0 ? random.below(PAST) : 0;
    return this.versions[Math.max(this.majority - back, 0)] ?? EMPTY;
  }

  /** All that a majority has had since a version was the newest one. */
  history(from: number): readonly Version[] {
    return this.versions.slice(from, this.majority + 1);
  }

  get settledIndex(): number {
    return this.majority;
  }

  /** What the primary shows in transactions that begin now. */
  private get latest(): Version {
    return this.versions.at(-1) ?? EMPTY;
  }

  /** A write outside transactions; a ticket to ask what became of it, undefined where a transaction has the document. */
  update(
    document: string,
    change: (version: Version) => Version,
  ): { readonly index: number; readonly term: number } | undefined {
    if ([...this.open].some(({ locks }) => locks.has(document))) return undefined;
    return this.push([document], change(this.latest));
  }

  begin(): Transaction {
    const transaction = { snapshot: this.versions.length - 1, term: this.term, locks: new Set<string>(), over: false };
    this.open.add(transaction);
    return transaction;
  }

  isOver({ over }: Transaction): boolean {
    return over;
  }

  seen(transaction: Transaction): Version {
    return this.versions[transaction.snapshot] ?? EMPTY;
  }

  /** Whether a transaction may write a document. */
  lock(transaction: Transaction, document: string): boolean {
    if ((this.modified.get(document) ?? 0) > transaction.snapshot) return false;
    if ([...this.open].some((other) => other !== transaction && other.locks.has(document))) return false;
    transaction.locks.add(document);
    return true;
  }

  abort(transaction: Transaction): void {
    transaction.over = true;
    this.open.delete(transaction);
  }

  /** Undefined: there is no such transaction any more. */
  commit(
    transaction: Transaction,
    change: (version: Version) => Version,
  ): { readonly index: number; readonly term: number } | undefined {
    if (this.isOver(transaction)) return undefined;
    this.abort(transaction);
    return this.push([...transaction.locks], change(this.latest));
  }

  /** Whether a majority has a version; 'lost' after a failover before that. */
  outcome({ index, term }: { readonly index: number; readonly term: number }): 'pending' | 'durable' | 'lost' {
    if (this.terms[index] !== term) return 'lost';
    return index <= this.majority ? 'durable' : 'pending';
  }

  /** Ends all transactions that others left open. */
  killAll(): void {
    for (const transaction of [...this.open]) this.abort(transaction);
  }

  replicate(): void {
    this.unsettled = Math.max(this.unsettled - 1, 0);
    if (this.majority + 1 >= this.versions.length) return;
    const before = this.settled;
    this.majority++;
    for (const [revision, entry] of this.settled.log) {
      if (before.log.has(revision)) continue;
      const taken = this.durable.get(revision);
      if (taken !== undefined)
        this.violations.push(`revision ${revision} was taken by write ${taken.op}, then by ${entry.op}`);
      for (const [other, { op }] of this.durable)
        if (op === entry.op) this.violations.push(`write ${op} was applied at ${other} and again at ${revision}`);
      this.durable.set(revision, entry);
    }
  }

  failOver(): void {
    this.killAll();
    this.versions = this.versions.slice(0, this.majority + 1);
    this.terms = this.terms.slice(0, this.majority + 1);
    for (const [document, index] of this.modified)
      if (index > this.majority) this.modified.set(document, this.majority);
    this.term++;
    if (this.showsPast) this.unsettled = UNSETTLED;
  }

  private push(documents: readonly string[], version: Version): { readonly index: number; readonly term: number } {
    this.versions.push(version);
    this.terms.push(this.term);
    const index = this.versions.length - 1;
    for (const document of documents) this.modified.set(document, index);
    return { index, term: this.term };
  }
}
