import type { Clock, Timer } from './clock.js';

/** An entry with a deadline. Entries are linked into the slots of the wheel, so that adding and removing them costs next to nothing. */
export abstract class WheelEntry {
  private dueAt = 0;
  private before: WheelEntry | undefined;
  private after: WheelEntry | undefined;
  private wheel: TimerWheel | undefined;
  private slot = -1;

  /** Called once, never early and at most about one tick late. */
  abstract expire(): void;

  get scheduled(): boolean {
    return this.wheel !== undefined;
  }

  get due(): number {
    return this.dueAt;
  }

  /** Links the entry into a slot. Called only by the wheel. */
  link(wheel: TimerWheel, slot: number, due: number, head: WheelEntry | undefined): void {
    this.wheel = wheel;
    this.slot = slot;
    this.dueAt = due;
    this.before = undefined;
    this.after = head;
    if (head !== undefined) head.before = this;
  }

  /** The next entry in the slot. Used only by the wheel. */
  get next(): WheelEntry | undefined {
    return this.after;
  }

  /** Removes the entry from its wheel, if it is on one. */
  unschedule(): void {
    const { wheel: home, before, after } = this;
    if (home === undefined) return;
    if (before === undefined) home.setHead(this.slot, after);
    else before.after = after;
    if (after !== undefined) after.before = before;
    this.wheel = undefined;
    this.before = undefined;
    this.after = undefined;
    home.removed();
  }
}

/** Serves many coarse deadlines with one timer, which runs only while there are any. */
export class TimerWheel {
  private readonly heads: (WheelEntry | undefined)[];
  private count = 0;
  private position: number;
  private timer: Timer | undefined;

  constructor(
    private readonly clock: Clock,
    private readonly tickMillis = 100,
    private readonly slots = 1024,
  ) {
    this.heads = new Array<WheelEntry | undefined>(slots).fill(undefined);
    this.position = this.tickOf(clock.monotonic());
  }

  /** Schedules an entry. `due` is in monotonic milliseconds of the clock. */
  schedule(entry: WheelEntry, due: number): void {
    entry.unschedule();
    if (this.count === 0) this.position = this.tickOf(this.clock.monotonic());
    const tick = Math.max(this.tickOf(due) + 1, this.position + 1);
    const slot = tick % this.slots;
    entry.link(this, slot, due, this.heads[slot]);
    this.heads[slot] = entry;
    this.count++;
    this.timer ??= this.clock.setTimer(this.tickMillis, () => this.tick());
  }

  /** Called only by entries. */
  setHead(slot: number, head: WheelEntry | undefined): void {
    this.heads[slot] = head;
  }

  /** Called only by entries. */
  removed(): void {
    this.count--;
  }

  private tickOf(millis: number): number {
    return Math.floor(millis / this.tickMillis);
  }

  private tick(): void {
    this.timer = undefined;
    const now = this.clock.monotonic();
    const target = this.tickOf(now);
    const steps = Math.min(target - this.position, this.slots);
    for (let i = 1; i <= steps; i++) this.sweep((this.position + i) % this.slots, now);
    this.position = Math.max(this.position, target);
    if (this.count > 0) {
      this.timer = this.clock.setTimer(this.tickMillis, () => this.tick());
    }
  }

  private sweep(slot: number, now: number): void {
    const due: WheelEntry[] = [];
    for (let entry = this.heads[slot]; entry !== undefined; entry = entry.next) {
      // An entry for a later revolution of the wheel stays.
      if (entry.due <= now) due.push(entry);
    }
    for (const entry of due) {
      if (!entry.scheduled) continue;
      entry.unschedule();
      entry.expire();
    }
  }
}
