interface Entry<T> {
  readonly key: string;
  readonly value: T;
  count: number;
}

/** The maximum number of entries of a chunk. */
const CHUNK = 512;

/**
 * Values by keys, in the order of the keys. Values with equal keys are equal, and are counted. With `limit`, it keeps only the first ones,
 * and nothing can be removed.
 */
export class SortedBag<T> {
  private readonly chunks: Entry<T>[][] = [];
  private distinct = 0;

  constructor(private readonly limit = Infinity) {}

  /** Returns by how much the length of the kept keys grows. */
  add(key: string, value: T): number {
    const at = this.chunkFor(key);
    const chunk = this.chunks[at];
    if (chunk === undefined) {
      this.chunks.push([{ key, value, count: 1 }]);
      this.distinct++;
      return key.length;
    }
    const place = placeOf(chunk, key);
    const known = chunk[place];
    if (known?.key === key) {
      known.count++;
      return 0;
    }
    if (this.distinct >= this.limit && at === this.chunks.length - 1 && place === chunk.length) return 0;
    chunk.splice(place, 0, { key, value, count: 1 });
    this.distinct++;
    if (chunk.length > CHUNK) this.chunks.splice(at + 1, 0, chunk.splice(CHUNK / 2));
    return key.length - this.trim();
  }

  remove(key: string): void {
    const at = this.chunkFor(key);
    const chunk = this.chunks[at];
    const place = chunk === undefined ? 0 : placeOf(chunk, key);
    const known = chunk?.[place];
    if (chunk === undefined || known?.key !== key) throw new Error('the bag has no such value');
    if (--known.count > 0) return;
    chunk.splice(place, 1);
    this.distinct--;
    if (chunk.length === 0) this.chunks.splice(at, 1);
  }

  first(): T | undefined {
    return this.chunks[0]?.[0]?.value;
  }

  last(): T | undefined {
    return this.chunks.at(-1)?.at(-1)?.value;
  }

  /** Returns the first values, each as often as it was added. */
  take(count: number): T[] {
    const taken: T[] = [];
    for (const chunk of this.chunks) {
      for (const { value, count: times } of chunk) {
        for (let i = 0; i < times; i++) {
          if (taken.length === count) return taken;
          taken.push(value);
        }
      }
    }
    return taken;
  }

  private trim(): number {
    if (this.distinct <= this.limit) return 0;
    const chunk = this.chunks.at(-1) ?? [];
    const [gone] = chunk.splice(-1);
    this.distinct--;
    if (chunk.length === 0) this.chunks.pop();
    return gone?.key.length ?? 0;
  }

  /** Returns the last chunk that begins at or before a key, or the first one. */
  private chunkFor(key: string): number {
    let low = 0;
    let high = this.chunks.length - 1;
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if ((this.chunks[middle]?.[0]?.key ?? '') <= key) low = middle;
      else high = middle - 1;
    }
    return low;
  }
}

/** Returns the place of the first entry of a chunk that is not before a key. */
function placeOf(chunk: readonly Entry<unknown>[], key: string): number {
  let low = 0;
  let high = chunk.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((chunk[middle]?.key ?? '') < key) low = middle + 1;
    else high = middle;
  }
  return low;
}
