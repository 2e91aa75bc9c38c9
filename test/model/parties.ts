import type { Random } from './random.js';

/** A party of a model; at each `yield` it may stand still for any time, or for ever. */
export type Party = Generator<undefined, void>;
/** A part of what a party does. */
export type Steps<T> = Generator<undefined, T>;

/** How parties fall asleep. */
export interface Naps {
  /** Once in so many steps of a party. */
  readonly once: number;
  /** For less than so many steps of the schedule. */
  readonly short: number;
  /** Once in so many naps it may be for the rest of the schedule. */
  readonly longOnce: number;
}

/** The parties of a schedule, in an order that the seed decides. */
export class Parties {
  private readonly parties: { readonly party: Party; asleep: number }[] = [];

  constructor(
    private readonly random: Random,
    private readonly naps: Naps,
  ) {}

  add(party: Party): void {
    this.parties.push({ party, asleep: 0 });
  }

  /** One party that is awake makes its next step, if there is one. */
  advance(step: number, steps: number): void {
    const { random, naps } = this;
    const awake = this.parties.filter(({ asleep }) => asleep <= step);
    const chosen = awake[random.below(Math.max(awake.length, 1))];
    if (chosen === undefined) return;
    if (chosen.party.next().done === true) this.parties.splice(this.parties.indexOf(chosen), 1);
    if (random.once(naps.once)) chosen.asleep = step + random.below(random.once(naps.longOnce) ? steps : naps.short);
  }
}
