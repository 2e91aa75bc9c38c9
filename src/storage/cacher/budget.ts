/** Statistics of the cache of derived bytes, for metrics. */
export interface BudgetStats {
  readonly hits: number;
  readonly misses: number;
  readonly evictions: number;
  readonly bytes: number;
  readonly limit: number;
  /** The part of the bytes that has results of expressions. */
  readonly askedBytes: number;
  /** The number of results of expressions that were used again. */
  readonly askedHits: number;
}

/** The fate of derived bytes when the item or leaf that they were derived from is replaced. */
export type Durability =
  /** They are dropped. */
  | 'dropped'
  /** They are dropped, and take no extra memory until then: the items' own bytes are in them. */
  | 'shared'
  /** The replacement may reuse parts of them. */
  | 'inherited';

/** Derived bytes, as an entry of the budget's LRU list. */
export class Derived {
  newer: Derived | undefined;
  older: Derived | undefined;
  constructor(
    readonly owner: DerivedSet,
    readonly id: string,
    readonly bytes: Uint8Array,
    readonly cost: number,
    readonly durability: Durability,
  ) {}
}

/** The approximate overhead of each entry, in bytes. */
const OVERHEAD = 200;

/** What the ids of results of expressions begin with. */
export const ASKED = 'asked ';

const isAsked = (id: string): boolean => id.startsWith(ASKED);

/** Limits the derived bytes of a process. The least recently used are evicted first. */
export class Budget {
  private newest: Derived | undefined;
  private oldest: Derived | undefined;
  private bytes = 0;
  private turned = 0;
  private hits = 0;
  private misses = 0;
  private evictions = 0;
  private askedBytes = 0;
  private askedHits = 0;

  constructor(private readonly limit: number) {}

  stats(): BudgetStats {
    const { hits, misses, evictions, bytes, limit, askedBytes, askedHits } = this;
    return { hits, misses, evictions, bytes, limit, askedBytes, askedHits };
  }

  /** The number of bytes made so far, kept or not. */
  get turnover(): number {
    return this.turned;
  }

  /** Reports whether bytes that were last used at a turnover would still be kept now. */
  keepsSince(turnover: number): boolean {
    return this.turned - turnover < this.limit;
  }

  /** Counts a result of an expression that was used again. */
  reuse(): void {
    this.askedHits++;
  }

  /** Counts bytes that were made but not kept. */
  pass(bytes: number): void {
    this.misses++;
    this.turned += bytes;
  }

  /** Adds bytes. The caller keeps the returned entry and passes it to `use` on each use. */
  add(owner: DerivedSet, id: string, bytes: Uint8Array, durability: Durability): Derived {
    this.misses++;
    const cost = OVERHEAD + (durability === 'shared' ? 0 : bytes.length);
    const entry = new Derived(owner, id, bytes, cost, durability);
    this.bytes += entry.cost;
    if (isAsked(id)) this.askedBytes += entry.cost;
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
    if (isAsked(entry.id)) this.askedBytes -= entry.cost;
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

/** The derived bytes of one item or leaf, by id. Most have none or one. */
export class DerivedSet {
  private readonly entries = new Map<string, Derived>();
  constructor(private readonly budget: Budget) {}

  get(id: string): Uint8Array | undefined {
    const entry = this.entries.get(id);
    return entry === undefined ? undefined : this.budget.use(entry);
  }

  /** Returns the bytes without counting this as a use. */
  peek(id: string): Uint8Array | undefined {
    return this.entries.get(id)?.bytes;
  }

  get size(): number {
    return this.entries.size;
  }

  put(id: string, bytes: Uint8Array, durability: Durability = 'dropped'): Uint8Array {
    const old = this.entries.get(id);
    if (old !== undefined) this.budget.remove(old);
    this.entries.set(id, this.budget.add(this, id, bytes, durability));
    return bytes;
  }

  /** Called by the budget, which has removed the bytes. */
  evict(id: string): void {
    this.entries.delete(id);
  }

  drop(id: string): void {
    const entry = this.entries.get(id);
    if (entry === undefined) return;
    this.budget.remove(entry);
    this.entries.delete(id);
  }

  /** Keeps only the bytes that a replacement may reuse parts of. */
  keepInherited(): void {
    for (const [id, entry] of this.entries) if (entry.durability !== 'inherited') this.drop(id);
  }

  /** Drops the blocks that hold the items' own bytes. */
  dropShared(): void {
    for (const [id, { durability }] of this.entries) if (durability === 'shared') this.drop(id);
  }

  clear(): void {
    for (const entry of this.entries.values()) this.budget.remove(entry);
    this.entries.clear();
  }
}
