import type { JsonObject } from '../../apimachinery/json/json.js';

/** The maximum number of owner references, and of reasons, that a status lists. */
const MAX_LISTED = 100;
const MAX_MESSAGE = 1024;

/** What became of an object. */
export type Outcome =
  { readonly kind: 'restored' | 'unchanged' } | { readonly kind: 'conflict'; readonly message: string } | Refusal;

export interface Refusal {
  readonly kind: 'refused';
  readonly reason: string;
  readonly message: string;
}

interface Refusals {
  message: string;
  count: number;
  example: string;
}

/** Counts what became of the objects of a restore, for its status. */
export class Report {
  selected = 0;
  restored = 0;
  unchanged = 0;
  conflicts = 0;
  refused = 0;
  /** The first conflict. */
  conflict = '';
  private readonly refusals = new Map<string, Refusals>();
  private readonly owners: JsonObject[] = [];

  get done(): number {
    return this.restored + this.unchanged + this.conflicts + this.refused;
  }

  count(object: string, outcome: Outcome): void {
    switch (outcome.kind) {
      case 'restored':
        this.restored++;
        return;
      case 'unchanged':
        this.unchanged++;
        return;
      case 'conflict':
        this.conflicts++;
        this.conflict ||= `${object}: ${outcome.message}`;
        return;
      case 'refused':
        this.refused++;
        this.refusal(object, outcome);
    }
  }

  /** Notes a refusal of a part of an object that was brought back. */
  refusal(object: string, { reason, message }: Pick<Refusal, 'reason' | 'message'>): void {
    const known = this.refusals.get(reason);
    if (known !== undefined) known.count++;
    else if (this.refusals.size < MAX_LISTED)
      this.refusals.set(reason, { message: message.slice(0, MAX_MESSAGE), count: 1, example: object });
  }

  ownerLeftOut(object: string, owner: string): void {
    if (this.owners.length < MAX_LISTED) this.owners.push({ object, owner });
  }

  /** Returns the part of the status that counts. */
  status(): JsonObject {
    const { selected, restored, unchanged, conflicts, refused } = this;
    const refusals = [...this.refusals].map(([reason, more]): JsonObject => ({ reason, ...more }));
    return {
      selected,
      restored,
      unchanged,
      conflicts,
      refused,
      ...(refusals.length > 0 && { refusals }),
      ...(this.owners.length > 0 && { ownersLeftOut: [...this.owners] }),
    };
  }
}
