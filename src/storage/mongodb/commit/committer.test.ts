import { FakeClock } from '../../../../test/fakes/util/clock.js';
import { encodeObject } from '../../encode.js';
import type { WriteRequest } from '../../interfaces.js';
import type { BatchDocument } from '../documents.js';
import type { Followed } from '../following/follower.js';
import type { Inserted, Verdict } from './appender.js';
import { Committer } from './committer.js';
import { KnownStates } from '../following/known-states.js';

const UNKNOWN: Inserted = { outcome: 'unknown', error: new Error('lost') };
const STALE: Inserted = { outcome: 'stale' };
const COMMITTED: Inserted = { outcome: 'committed' };

/** Returns a committer whose log returns the given outcomes, then commits everything. */
function replica(inserted: (Inserted | 'hangs')[] = [], verdicts: Verdict[] = []) {
  const clock = new FakeClock();
  const known = new KnownStates(1 << 20, 1, () => ({ revision: 0, asOf: Infinity }));
  const asked: string[] = [];
  const room = { hasRoom: true };
  const follower = {
    revision: 1,
    moment: 100,
    lastForeign: -Infinity,
    lastForeignEntries: 0,
    take: ({ last, events }: Followed) => {
      for (const event of events) known.apply(event);
      follower.revision = last;
      return true;
    },
    catchUp: () => {
      asked.push('read on');
      return Promise.resolve();
    },
    progress: () => Promise.resolve(),
  };
  const committer = new Committer({
    clock,
    known,
    follower,
    appender: {
      moment: 100,
      insert: ({ _id, entries }: BatchDocument) => {
        asked.push(`insert ${_id}: ${entries.map(({ key }) => key).join(' ')}`);
        const outcome = inserted.shift() ?? COMMITTED;
        return outcome === 'hangs' ? new Promise(() => undefined) : Promise.resolve(outcome);
      },
      judge: ({ _id }: BatchDocument) => {
        asked.push(`judge ${_id}`);
        return Promise.resolve(verdicts.shift() ?? 'absent');
      },
    },
    current: { read: () => Promise.reject(new Error('nothing has to be read')) },
    projector: {
      get hasRoom() {
        return room.hasRoom;
      },
      wake: () => undefined,
    },
    writers: {
      claim: () => Promise.resolve(),
      claimed: () => Promise.resolve(0),
      startOver: () => void asked.push('start over'),
    },
    writer: 'one',
    historyMillis: 300_000,
    maxObjectBytes: 1 << 20,
    writeMillis: 1_000,
    onStartOver: () => undefined,
  });
  return { clock, committer, asked, room };
}

const put = (name: string): WriteRequest => {
  const value = encodeObject({ apiVersion: 'v1', kind: 'K', metadata: { name } });
  return { resource: 'maps', key: name, expected: 0, value };
};

const outcomes = (committer: Committer, ...names: string[]): Promise<unknown[]> =>
  Promise.all(
    names.map((name) =>
      committer.write(put(name)).then(
        (result) => (result.outcome === 'committed' ? result.object.revision : result.outcome),
        (error: unknown) => (error as { code?: string }).code,
      ),
    ),
  );

test('concurrent writes form one batch', async () => {
  const { committer, asked } = replica();
  expect(await outcomes(committer, 'a', 'b')).toEqual([2, 3]);
  expect(asked).toEqual(['insert 2: a b']);
});

test('after a long pause, the log is read before anything is appended', async () => {
  const { committer, asked, clock } = replica();
  clock.advance(200_000);
  expect(await outcomes(committer, 'a')).toEqual([2]);
  expect(await outcomes(committer, 'b')).toEqual([3]);
  expect(asked).toEqual(['read on', 'insert 2: a', 'insert 3: b']);
});

test.each<[string, Inserted[], Verdict[], unknown[], string[]]>([
  ['is there', [UNKNOWN], ['committed'], [2], ['judge 2']],
  ['is missing is sent again', [UNKNOWN], ['absent'], [2], ['judge 2', 'insert 2: a']],
  [
    'exists when it is sent again',
    [UNKNOWN, STALE],
    ['absent', 'committed'],
    [2],
    ['judge 2', 'insert 2: a', 'judge 2'],
  ],
  ['lost its place is decided again', [UNKNOWN], ['stale'], [2], ['judge 2', 'read on', 'insert 2: a']],
  ['may have been trimmed is reported as unknown', [UNKNOWN], ['lost'], ['unknown-outcome'], ['judge 2', 'read on']],
])('a batch whose response is lost and that %s', async (_, inserted, verdicts, reported, asked) => {
  const log = replica(inserted, verdicts);
  expect(await outcomes(log.committer, 'a')).toEqual(reported);
  await log.committer.idle();
  expect(log.asked).toEqual(['insert 2: a', ...asked]);
});

test('a batch that MongoDB refuses is sent write by write', async () => {
  const refused: Inserted = { outcome: 'refused', error: new Error('no') };
  const { committer, asked } = replica([refused, COMMITTED, refused]);
  expect(await outcomes(committer, 'a', 'b')).toEqual([2, 'unavailable']);
  expect(asked).toEqual(['insert 2: a b', 'insert 2: a', 'insert 3: b']);
});

/** Advances the clock in steps of 100 ms, and runs everything that is ready after each step. */
async function pass(clock: FakeClock, millis: number): Promise<void> {
  for (let passed = 0; passed < millis; passed += 100) {
    clock.advance(100);
    for (let i = 0; i < 5; i++) await new Promise((resolve) => setImmediate(resolve));
  }
}

test('nothing is committed while the projection is too far behind', async () => {
  const { committer, asked, room, clock } = replica();
  room.hasRoom = false;
  const first = outcomes(committer, 'a');
  await pass(clock, 2_000);
  expect(await first).toEqual(['unavailable']);
  room.hasRoom = true;
  await pass(clock, 2_000);
  expect(await outcomes(committer, 'b')).toEqual([2]);
  expect(asked).toEqual(['insert 2: b']);
});

test('while appends hang, the commit path restarts after 30 s, and later writes are committed once', async () => {
  const { committer, asked, clock } = replica(['hangs']);
  const first = outcomes(committer, 'a');
  await pass(clock, 2_000);
  expect(await first).toEqual(['unknown-outcome']);
  const second = outcomes(committer, 'b');
  await pass(clock, 2_000);
  expect(await second).toEqual(['unavailable']);
  await pass(clock, 25_500);
  expect(asked).toEqual(['insert 2: a']);
  await pass(clock, 1_500);
  expect(await outcomes(committer, 'c')).toEqual([2]);
  expect(asked).toEqual(['insert 2: a', 'start over', 'read on', 'insert 2: c']);
});
