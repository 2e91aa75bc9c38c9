import type { CachedList, WatchEvent, Watcher } from '../../../src/storage/cacher/interfaces.js';
import type { LogEvent, Revision } from '../../../src/storage/interfaces.js';
import type { FakeBackend } from './fake-backend.js';

export class Violation extends Error {}

const line = (event: { readonly type: string; readonly revision: Revision }, key: string): string =>
  `${event.revision} ${event.type} ${key}`;

export function contentOf(state: ReadonlyMap<string, LogEvent>): string[] {
  return [...state.values()].map((event) => `${event.key}@${event.revision}`).sort();
}

/** Verifies that a list holds exactly the state at its revision. */
export function checkList(backend: FakeBackend, resource: string, list: CachedList): void {
  const shown = [...list.items()].map((item) => `${item.key}@${item.revision}`).sort();
  same(`the list of ${resource} at ${list.revision}`, shown, contentOf(backend.stateAt(resource, list.revision)));
}

export function same(what: string, found: readonly string[], expected: readonly string[]): void {
  if (found.join(' ') === expected.join(' ')) return;
  const missing = expected.filter((each) => !found.includes(each));
  const extra = found.filter((each) => !expected.includes(each));
  throw new Violation(`${what}: missing [${missing.join(', ')}], beyond [${extra.join(', ')}]; has ${found.length}`);
}

/** Compares the events that a watch received with those that it should receive. */
export class WatchAccount {
  watcher: Watcher | undefined;
  over: string | undefined;
  problem: Violation | undefined;
  private readonly initial: string[] = [];
  /** Everything up to this revision has been delivered; undefined during the initial events. */
  private reported: Revision | undefined;

  constructor(
    private readonly backend: FakeBackend,
    readonly resource: string,
    start: Revision | undefined,
    /** The lowest revision that the initial state may have. */
    private readonly lowest: Revision,
    private readonly room: () => boolean,
  ) {
    this.reported = start;
  }

  receive(events: readonly WatchEvent[]): boolean {
    try {
      for (const event of events) this.take(event);
    } catch (error) {
      this.problem ??= error as Violation;
    }
    return this.room();
  }

  ended(reason: 'slow' | 'closed' | Error): void {
    this.over = reason instanceof Error ? reason.message : reason;
  }

  /** Verifies the watch after everything has been delivered. */
  complete(): void {
    if (this.over !== undefined) return;
    if (this.reported === undefined) throw new Violation(`a watch of ${this.resource} has no initial state`);
    this.upTo(this.backend.newest, 'at the end');
  }

  private take(event: WatchEvent): void {
    if (this.over !== undefined) throw new Violation(`an event after the end: ${event.revision}`);
    if (this.reported === undefined) {
      if (event.type === 'BOOKMARK' && event.initialEventsEnd) {
        if (event.revision < this.lowest)
          throw new Violation(`a watch begins at ${event.revision}, before ${this.lowest}`);
        const expected = contentOf(this.backend.stateAt(this.resource, event.revision));
        same(`the initial events of ${this.resource} at ${event.revision}`, this.initial.sort(), expected);
        this.reported = event.revision;
      } else if (event.type === 'ADDED') {
        this.initial.push(`${event.object?.key ?? ''}@${event.object?.revision ?? 0}`);
      } else throw new Violation(`a ${event.type} among the initial events`);
      return;
    }
    if (event.type === 'BOOKMARK') {
      this.upTo(event.revision, 'before a bookmark');
      return;
    }
    this.upTo(event.revision - 1, `before ${line(event, event.object?.key ?? '')}`);
    const [expected] = this.missing(event.revision);
    if (expected === undefined)
      throw new Violation(`${event.revision} is no event of ${this.resource}, or was reported`);
    same('an event', [line(event, event.object?.key ?? '')], [line(expected, expected.key)]);
    this.reported = event.revision;
  }

  private missing(until: Revision): LogEvent[] {
    const reported = this.reported ?? 0;
    return this.backend.log.filter(
      (event) => event.resource === this.resource && event.revision > reported && event.revision <= until,
    );
  }

  private upTo(revision: Revision, when: string): void {
    const missed = this.missing(revision).map((event) => line(event, event.key));
    if (missed.length > 0)
      throw new Violation(`a watch of ${this.resource} did not get, ${when}: ${missed.join(', ')}`);
    this.reported = Math.max(this.reported ?? 0, revision);
  }
}
