import { FakeClock } from '../../../../test/fakes/util/clock.js';
import { SLICE_MILLIS } from '../../../scheduling/thresholds.js';
import { yieldNow } from '../../../scheduling/slicer.js';
import { EVERYTHING } from '../../../apimachinery/selectors/selection-predicate.js';
import { Deliveries } from './deliveries.js';
import { CachedEvent } from './events.js';
import { type Member, WatchGroup } from './group.js';

/** A group whose members take a millisecond to receive events. */
class Watched {
  readonly clock = new FakeClock();
  readonly group = new WatchGroup({ prefix: '', key: undefined, predicate: EVERYTHING });
  /** What each member has received, and the number of deliveries. */
  readonly received: number[][] = [];
  delivered = 0;
  private readonly deliveries = new Deliveries(this.clock);
  private revision = 0;

  join(): Member {
    const revisions: number[] = [];
    this.received.push(revisions);
    const member: Member = {
      deliver: (events) => {
        revisions.push(...events.map(({ revision }) => revision));
        this.delivered++;
        this.clock.advance(1);
      },
    };
    this.group.join(member);
    return member;
  }

  write(): void {
    this.group.add(new CachedEvent('BOOKMARK', ++this.revision, undefined));
    this.deliveries.add([this.group]);
  }

  /** Runs turns of the event loop until nothing is delivered any more; returns the most that one of them delivered. */
  async mostInOneTurn(inTurn: (turn: number) => void = () => undefined): Promise<number> {
    let most = this.delivered;
    for (let idle = 0, turn = 0; idle < 3; turn++) {
      const before = this.delivered;
      inTurn(turn);
      await yieldNow();
      most = Math.max(most, this.delivered - before);
      idle = this.delivered === before ? idle + 1 : 0;
    }
    return most;
  }
}

test('one event for thousands of watches is delivered in slices', async () => {
  const watched = new Watched();
  for (let i = 0; i < 3_000; i++) watched.join();
  watched.write();
  expect(watched.delivered).toBe(SLICE_MILLIS);
  expect(await watched.mostInOneTurn()).toBeLessThanOrEqual(SLICE_MILLIS);
  expect(watched.received.every((revisions) => revisions.length === 1)).toBe(true);
});

test('a few watches receive an event at once', () => {
  const watched = new Watched();
  for (let i = 0; i < SLICE_MILLIS; i++) watched.join();
  watched.write();
  expect(watched.received.flat()).toEqual([1, 1, 1, 1, 1]);
});

test('events that arrive meanwhile follow in order, and whoever joins receives only what is new', async () => {
  const watched = new Watched();
  const members = Array.from({ length: 40 }, () => watched.join());
  watched.write();
  const late: number[] = [];
  const left: number[] = [];
  const most = await watched.mostInOneTurn((turn) => {
    if (turn >= 6) return;
    // Two more writes per turn, so that the writes overtake the deliveries.
    watched.write();
    late.push(watched.received.length);
    watched.join();
    const leaver = members[30 + turn];
    if (leaver !== undefined && watched.group.leave(leaver)) left.push(30 + turn);
    watched.write();
  });
  expect(most).toBeLessThanOrEqual(2 * SLICE_MILLIS);
  const all = Array.from({ length: 13 }, (_, i) => i + 1);
  watched.received.forEach((revisions, i) => {
    const joined = late.indexOf(i);
    if (joined >= 0) expect(revisions).toEqual(all.slice(2 * joined + 2));
    else if (left.includes(i)) expect(revisions).toEqual(all.slice(0, revisions.length));
    else expect(revisions).toEqual(all);
  });
});

test('a watch can be brought up to date before its turn, and receives nothing twice', async () => {
  const watched = new Watched();
  const members = Array.from({ length: 20 }, () => watched.join());
  watched.write();
  const [last] = members.slice(-1);
  if (last !== undefined) watched.group.deliverTo(last);
  expect(watched.received.at(-1)).toEqual([1]);
  await watched.mostInOneTurn();
  expect(watched.received).toEqual(members.map(() => [1]));
});

test('when many events wait, all members receive them at once, so that they do not pile up', async () => {
  const watched = new Watched();
  for (let i = 0; i < 20; i++) watched.join();
  for (let i = 0; i < 1_100; i++) watched.write();
  await watched.mostInOneTurn();
  expect(watched.received.every((revisions) => revisions.length === 1_100)).toBe(true);
  expect(watched.delivered).toBeLessThan(100);
});
