/** What the cache of derived bytes did, for metrics. */
export interface BudgetStats {
  readonly hits: number;
  readonly misses: number;
  readonly evictions: number;
  readonly bytes: number;
  readonly limit: number;
}

/** Something that holds derived bytes under ids, and lets go of them when told. */
export interface BudgetOwner {
  evict(id: string): void;
}

/** What becomes of derived bytes when the thing they were made from has a successor. */
export type Durability =
  /** Of no use any more. */
  | 'dropped'
  /** The successor may still take parts of it. */
  | 'inherited';

/** Derived bytes in the budget's list. */
export class Derived {
  newer: Derived | undefined;
  older: Derived | undefined;
  constructor(
    readonly owner: BudgetOwner,
    readonly id: string,
    readonly bytes: Uint8Array,
    readonly cost: number,
    readonly durability: Durability,
  ) {}
}

/** Each kept value costs about this much beside its bytes. */
const OVERHEAD = 200;

/** One bound for all derived bytes of a process; the least recently used go first. */
export class Budget {
  private newest: Derived | undefined;
  private oldest: Derived | undefined;
  private bytes = 0;
  private turned = 0;
  private hits = 0;
  private misses = 0;
  private evictions = 0;

  constructor(private readonly limit: number) {}

  stats(): BudgetStats {
    return { hits: this.hits, misses: this.misses, evictions: this.evictions, bytes: this.bytes, limit: this.limit };
  }

  /** How many bytes were made so far, kept or not. */
  get turnover(): number {
    return this.turned;
  }

  /** Whether what was used at that turnover is still there. */
  keepsSince(turnover: number): boolean {
    return this.turned - turnover < this.limit;
  }

  /** Bytes were made and not kept. */
  pass(bytes: number): void {
    this.misses++;
    this.turned += bytes;
  }

  /** Takes bytes in; the caller keeps what it returns and hands it back at each use. `free`: the bytes are accounted for elsewhere. */
  add(owner: BudgetOwner, id: string, bytes: Uint8Array, durability: Durability, free: boolean): Derived {
    this.misses++;
    const entry = new Derived(owner, id, bytes, OVERHEAD + (free ? 0 : bytes.length), durability);
    this.bytes += entry.cost;
    this.turned += entry.cost;
    this.link(entry);
    while (this.bytes > this.limit && this.oldest !== undefined && this.oldest !== entry) {
      const victim = this.oldest;
      this.remove(victim);
      this.evictions++;
      victim.owner.evict(victim.id);
    }
    return entry;
  }

  use(entry: Derived): Uint8Array {
    this.hits++;
    if (this.newest !== entry) {
      this.unlink(entry);
      this.link(entry);
    }
    return entry.bytes;
  }

  remove(entry: Derived): void {
    this.unlink(entry);
    this.bytes -= entry.cost;
  }

  private link(entry: Derived): void {
    entry.older = this.newest;
    entry.newer = undefined;
    if (this.newest !== undefined) this.newest.newer = entry;
    this.newest = entry;
    this.oldest ??= entry;
  }

  private unlink(entry: Derived): void {
    if (entry.newer !== undefined) entry.newer.older = entry.older;
    if (entry.older !== undefined) entry.older.newer = entry.newer;
    if (this.newest === entry) this.newest = entry.older;
    if (this.oldest === entry) this.oldest = entry.newer;
    entry.newer = undefined;
    entry.older = undefined;
  }
}

/** Derived bytes of one thing, by id. Most have none or one. */
export class DerivedSet implements BudgetOwner {
  private readonly entries = new Map<string, Derived>();
  constructor(private readonly budget: Budget) {}

  get(id: string): Uint8Array | undefined {
    const entry = this.entries.get(id);
    return entry === undefined ? undefined : this.budget.use(entry);
  }

  /** The bytes, without counting this as a use. */
  peek(id: string): Uint8Array | undefined {
    return this.entries.get(id)?.bytes;
  }

  get size(): number {
    return this.entries.size;
  }

  put(id: string, bytes: Uint8Array, durability: Durability = 'dropped', free = false): Uint8Array {
    const old = this.entries.get(id);
    if (old !== undefined) this.budget.remove(old);
    this.entries.set(id, this.budget.add(this, id, bytes, durability, free));
    return bytes;
  }

  evict(id: string): void {
    this.entries.delete(id);
  }

  drop(id: string): void {
    const entry = this.entries.get(id);
    if (entry === undefined) return;
    this.budget.remove(entry);
    this.entries.delete(id);
  }

  /** Keeps only what a successor may take parts of. */
  keepInherited(): void {
    for (const [id, entry] of this.entries) if (entry.durability === 'dropped') this.drop(id);
  }

  /** Drops what is accounted for elsewhere. */
  dropFree(): void {
    for (const [id, { cost }] of this.entries) if (cost === OVERHEAD) this.drop(id);
  }

  clear(): void {
    for (const entry of this.entries.values()) this.budget.remove(entry);
    this.entries.clear();
  }
}
