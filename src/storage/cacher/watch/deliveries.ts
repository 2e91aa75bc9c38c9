import { Slicer, yieldNow } from '../../../scheduling/slicer.js';
import type { Clock } from '../../../util/clock.js';
import type { WatchGroup } from './group.js';

/** Delivers the events of all types to their watchers in slices, because one event may concern thousands of watchers. */
export class Deliveries {
  private readonly waiting = new Set<WatchGroup>();
  private running = false;

  constructor(private readonly clock: Clock) {}

  /** Delivers to the members of the groups: in this step those that a slice is enough for, the others in later turns. */
  add(groups: Iterable<WatchGroup>): void {
    for (const group of groups) this.waiting.add(group);
    if (!this.running) void this.run();
  }

  private async run(): Promise<void> {
    this.running = true;
    let slicer = new Slicer(this.clock);
    for (const group of this.waiting) {
      for (const _ of group.deliveries()) {
        if (!slicer.isExhausted) continue;
        await yieldNow();
        slicer = new Slicer(this.clock);
      }
      this.waiting.delete(group);
    }
    this.running = false;
  }
}
