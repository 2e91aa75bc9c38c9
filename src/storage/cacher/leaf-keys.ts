import { asBuffer } from '../../util/bytes.js';
import { ASKED, type Budget } from './budget.js';
import type { CachedObject, Ordering } from './interfaces.js';
import { type ItemLeaf, leafData } from './tree/leaf-data.js';

/** Longer keys of a leaf are not kept. */
const MAX_BYTES = 64 << 10;
const WORD = 4;

/**
 * The keys of an order for the objects of a leaf. They are kept while the budget lasts: the end of each key (32 bits), then the keys. One
 * without bytes is not known.
 */
export class LeafKeys {
  private readonly id: string | undefined;
  private readonly known: Buffer | undefined;
  private readonly fresh: (Uint8Array | undefined)[] = [];
  private hasFresh = false;

  constructor(
    private readonly leaf: ItemLeaf,
    private readonly order: Ordering,
    private readonly budget: Budget,
  ) {
    this.id = order.id === undefined ? undefined : `${ASKED}keys ${order.id}`;
    const bytes = this.id === undefined ? undefined : leaf.data?.bytes.get(this.id);
    if (bytes !== undefined) this.known = asBuffer(bytes);
    else if (this.id !== undefined) this.takeOver(this.id);
  }

  /** Returns the key at a place if it is known. */
  at(place: number): Uint8Array | undefined {
    return this.fresh[place] ?? keyIn(this.known, this.leaf.size, place);
  }

  /** Computes the key at a place. */
  make(place: number, object: CachedObject): Uint8Array {
    this.hasFresh = true;
    return (this.fresh[place] = this.order.keyOf(object));
  }

  /** Keeps what has been computed. */
  save(): void {
    const { leaf, id } = this;
    if (!this.hasFresh || id === undefined || !leaf.current) return;
    const keys = Array.from({ length: leaf.size }, (_, place) => this.at(place));
    const total = keys.reduce((sum, key) => sum + (key?.length ?? 0), 0);
    if (total > MAX_BYTES) return;
    const table = Buffer.allocUnsafeSlow(WORD * leaf.size + total);
    let end = WORD * leaf.size;
    keys.forEach((key, place) => {
      if (key !== undefined) table.set(key, end);
      end += key?.length ?? 0;
      table.writeUInt32LE(end, WORD * place);
    });
    leafData(leaf, this.budget).bytes.put(id, table, 'inherited');
    this.hasFresh = false;
  }

  /** Takes over the keys of objects that the leaves had which this one replaced. */
  private takeOver(id: string): void {
    const { leaf } = this;
    for (const origin of leaf.data?.origins ?? []) {
      const bytes = origin.data?.bytes.peek(id);
      if (bytes === undefined) continue;
      const table = asBuffer(bytes);
      const places = new Map(origin.itemsOnce().map(({ revision }, place) => [revision, place]));
      leaf.itemsOnce().forEach(({ revision }, place) => {
        const before = places.get(revision);
        const key = before === undefined ? undefined : keyIn(table, origin.size, before);
        if (key === undefined) return;
        this.fresh[place] = Uint8Array.from(key);
        this.hasFresh = true;
      });
      origin.data?.bytes.drop(id);
    }
  }
}

function keyIn(table: Buffer | undefined, size: number, place: number): Uint8Array | undefined {
  if (table === undefined) return undefined;
  const start = place === 0 ? WORD * size : table.readUInt32LE(WORD * (place - 1));
  const end = table.readUInt32LE(WORD * place);
  return end > start ? table.subarray(start, end) : undefined;
}
