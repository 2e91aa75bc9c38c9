import type { Random } from './random.js';

/** A party of a model. At each `yield` it may stop for any time, or forever. */
export type Party = Generator<undefined, void>;
/** A part of a party's steps. */
export type Steps<T> = Generator<undefined, T>;

/** How parties pause. */
export interface Naps {
  /** A party pauses once in this many of its steps. */
  readonly once: number;
  /** A short pause lasts fewer than this many steps of the schedule. */
  readonly short: number;
  /** Once in this many pauses, it may last for the rest of the schedule. */
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

  /** Advances one party that is awake by one step, if any is awake. */
  advance(step: number, steps: number): void {
    const { random, naps } = this;
    const awake = this.parties.filter(({ asleep }) => asleep <= step);
    const chosen = awake[random.below(Math.max(awake.length, 1))];
    if (chosen === undefined) return;
    if (chosen.party.next().done === true) this.parties.splice(this.parties.indexOf(chosen), 1);
    if (random.once(naps.once)) chosen.asleep = step + random.below(random.once(naps.longOnce) ? steps : naps.short);
  }
}
