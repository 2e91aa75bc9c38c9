/** A deterministic pseudorandom number generator (mulberry32). */
export class Random {
  constructor(private state: number) {}

  /** Returns a number from 0, below 1. */
  next(): number {
    return this.whole() / 2 ** 32;
  }

  /** Returns an integer from 0, below `end`. */
  below(end: number): number {
    return this.whole() % end;
  }

  chance(probability: number): boolean {
    return this.next() < probability;
  }

  /** Returns true once in `times` calls on average. */
  once(times: number): boolean {
    return this.below(times) === 0;
  }

  pick<T>(of: readonly T[]): T {
    const chosen = of[this.below(of.length)];
    if (chosen === undefined) throw new Error('nothing to choose from');
    return chosen;
  }

  /** Picks one value according to the weights. */
  weighted<T>(of: readonly (readonly [number, T])[]): T {
    let at = this.next() * of.reduce((sum, [weight]) => sum + weight, 0);
    for (const [weight, value] of of) {
      at -= weight;
      if (at < 0) return value;
    }
    return this.pick(of)[1];
  }

  private whole(): number {
    this.state = (this.state + 0x6d2b79f5) >>> 0;
    let value = this.state;
    value = Math.imul(value ^ (value >>> 15), value | 1);
    value ^= value + Math.imul(value ^ (value >>> 7), value | 61);
    return (value ^ (value >>> 14)) >>> 0;
  }
}
