/** The number of forecasts after which a type is tried again: one unusual object must not send all of its type to a worker forever. */
const FORECASTS = 100;

interface Observation {
  /** The smallest weight of a write that took too long. */
  weight: number;
  forecasts: number;
}

/**
 * Forecasts from earlier writes of a type whether the rules of a write will take too long. The time that rules take grows with the object, so
 * a write at least as heavy as one that took too long will take too long, too.
 */
export class ExpensiveWrites<Type extends object> {
  private readonly observations = new WeakMap<Type, Observation>();

  /** Records that the rules of a write took too long. */
  observe(type: Type, weight: number): void {
    const known = this.observations.get(type)?.weight ?? Infinity;
    this.observations.set(type, { weight: Math.min(known, weight), forecasts: 0 });
  }

  isLikelyExpensive(type: Type, weight: number): boolean {
    const seen = this.observations.get(type);
    if (seen === undefined || weight < seen.weight) return false;
    if (++seen.forecasts > FORECASTS) this.observations.delete(type);
    return seen.forecasts <= FORECASTS;
  }
}
