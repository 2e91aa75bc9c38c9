/** Numbers that look random and are the same for the same seed (mulberry32). */
export class Random {
  constructor(private state: number) {}

  /** From 0 to before 1. */
  next(): number {
    return this.whole() / 2 ** 32;
  }

  /** From 0 to before `end`. */
  below(end: number): number {
    return this.whole() % end;
  }

  chance(probability: number): boolean {
    return this.next() < probability;
  }

  /** True once in `times` on average. */
  once(times: number): boolean {
    return this.below(times) === 0;
  }

  pick<T>(of: readonly T[]): T {
    const chosen = of[this.below(of.length)];
    if (chosen === undefined) throw new Error('nothing to choose from');
    return chosen;
  }

  /** One of them, according to their weights. */
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
