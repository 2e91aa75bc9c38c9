import type { ObjectPredicate } from '../interfaces.js';
import type { CachedEvent } from './events.js';

/** The scope of a watch. */
export interface Scope {
  readonly prefix: string;
  readonly key: string | undefined;
  readonly predicate: ObjectPredicate;
}

/** A watcher that has caught up. */
export interface Member {
  deliver(events: readonly CachedEvent[]): void;
}

/** While a group has more events than this, all its members receive them at once: the loop is too slow for slices. */
const MAX_PENDING = 1_000;

/** Watchers with the same scope, so that a change is evaluated for them once. */
export class WatchGroup {
  /** For each member, the number of events of this group that it has received, or knew when it joined. */
  private readonly members = new Map<Member, number>();
  /** The newest events, which some members may not have received. */
  private pending: CachedEvent[] = [];
  private count = 0;
  /** The events that the last member received, because most members have received the same number. */
  private last = { from: 0, to: 0, events: [] as readonly CachedEvent[] };

  constructor(readonly scope: Scope) {}

  get isEmpty(): boolean {
    return this.members.size === 0;
  }

  join(member: Member): void {
    this.members.set(member, this.count);
  }

  leave(member: Member): boolean {
    return this.members.delete(member);
  }

  add(event: CachedEvent): void {
    this.pending.push(event);
    this.count++;
  }

  /** Delivers everything that the member has not received. */
  deliverTo(member: Member): void {
    const from = this.members.get(member);
    if (from === undefined || from === this.count) return;
    this.members.set(member, this.count);
    if (this.last.from !== from || this.last.to !== this.count) {
      const events = this.pending.slice(from - (this.count - this.pending.length));
      this.last = { from, to: this.count, events };
    }
    member.deliver(this.last.events);
  }

  /** Delivers to one member per step. Ends when all members have received everything, also what is added meanwhile. */
  *deliveries(): Generator<undefined, void, undefined> {
    while (this.pending.length > 0) {
      const { count } = this;
      for (const member of this.members.keys()) {
        this.deliverTo(member);
        if (this.pending.length <= MAX_PENDING) yield;
      }
      this.pending = this.pending.slice(this.pending.length - (this.count - count));
    }
    this.last = { from: 0, to: 0, events: [] };
  }
}
