import type { LatestReads } from '../latest-reads.js';
import type { Db } from 'mongodb';
import { Appender, type Append, type StateChange } from './appender.js';
import { logPlace, MAIN_LOG } from '../documents.js';
import { CommandFailed } from '../failures.js';
import type { Statement } from './statements.js';
import type { Transactions, WholeOutcome } from './transactions.js';
import type { WriterSession } from './writer-session.js';

/** A MongoDB that answers as it is told; `asked` is what it was asked for. */
class Session {
  readonly asked: string[] = [];
  takesWhole = true;
  whole: WholeOutcome['outcome'] = 'committed';
  results: readonly (number | CommandFailed)[] = [0, 1];

  appender(): Appender {
    const transactions: Pick<Transactions, 'takesWhole' | 'whole' | 'begin' | 'commit' | 'abort'> = {
      takesWhole: this.takesWhole,
      whole: (statements) => {
        this.note('whole', statements);
        const { whole: outcome } = this;
        return Promise.resolve(outcome === 'unknown' ? { outcome, error: 'lost' } : { outcome });
      },
      begin: (statements) => {
        this.note('begin', statements);
        return Promise.resolve(this.results);
      },
      commit: () => {
        this.note('commit');
        return Promise.resolve();
      },
      abort: () => {
        this.note('abort');
        return Promise.resolve();
      },
    };
    const session = { current: () => Promise.resolve(transactions), abandon: () => this.note('abandon') };
    return new Appender(
      logPlace({ db: undefined as unknown as Db, latest: undefined as unknown as LatestReads }, MAIN_LOG),
      session as unknown as WriterSession,
    );
  }

  taken(): string[] {
    return this.asked.splice(0);
  }

  private note(what: string, statements: readonly Statement[] = []): void {
    const said = statements.map(({ verb, collection }) => `${verb} ${collection}`).join(',');
    this.asked.push(said === '' ? what : `${what} ${said}`);
  }
}

const STATE = { _annex: { revision: 2, bytes: Buffer.from('{}') } };

function append(expected = 0, state: StateChange['state'] = STATE): Append {
  return { first: 2, log: [], changes: [{ resource: 'maps', key: 'a/b', expected, state }] };
}

const yes = (): boolean => true;

test('what is made is sent with its commit', async () => {
  const session = new Session();
  expect(await session.appender().append(append(), yes)).toEqual({ outcome: 'committed' });
  expect(session.taken()).toEqual(['whole update meta,insert maps']);
});

test.each([
  ['replaced', append(1), 'begin update meta,update maps'],
  [
    'deleted',
    { ...append(1), changes: [{ resource: 'maps', key: 'a/b', expected: 1, state: undefined }] },
    'begin update meta,delete maps',
  ],
])('what is %s is committed once it is known that it was there', async (_, change, begun) => {
  const session = new Session();
  expect(await session.appender().append(change, yes)).toEqual({ outcome: 'committed' });
  expect(session.taken()).toEqual([begun, 'commit']);
  session.results = [0, 0];
  expect(await session.appender().append(change, yes)).toEqual({ outcome: 'mismatch' });
  expect(session.taken()).toEqual([begun, 'abort']);
});

test('a router of a sharded cluster is asked step by step', async () => {
  const session = new Session();
  session.takesWhole = false;
  expect(await session.appender().append(append(), yes)).toEqual({ outcome: 'committed' });
  expect(session.taken()).toEqual(['begin update meta,insert maps', 'commit']);
});

test('nothing is sent with its commit that must not be committed any more', async () => {
  const session = new Session();
  expect(await session.appender().append(append(), () => false)).toEqual({ outcome: 'withheld' });
  expect(session.taken()).toEqual([]);
});

test('an unknown outcome is told, and the session left', async () => {
  const session = new Session();
  session.whole = 'unknown';
  expect(await session.appender().append(append(), yes)).toEqual({ outcome: 'unknown', error: 'lost' });
  expect(session.taken()).toEqual(['whole update meta,insert maps', 'abandon']);
});

test('what was given up is asked for step by step, and more of what follows each time that it happens again', async () => {
  const session = new Session();
  const appender = session.appender();
  const wholes: boolean[] = [];
  session.whole = 'given-up';
  for (let i = 0; i < 12; i++) {
    session.results = [0, i === 0 ? new CommandFailed({ code: 11000 }) : 1];
    expect(await appender.append(append(), yes)).toEqual({ outcome: i === 0 ? 'mismatch' : 'committed' });
    wholes.push(session.taken()[0] === 'whole update meta,insert maps');
  }
  expect(wholes.flatMap((whole, i) => (whole ? [i] : []))).toEqual([0, 2, 5, 10]);
});

test('an append below the floor is overtaken, whatever else its transaction says', async () => {
  const session = new Session();
  session.takesWhole = false;
  const aborted = new CommandFailed({ code: 251, errorLabels: ['TransientTransactionError'] });
  session.results = [new CommandFailed({ code: 66 }), aborted];
  expect(await session.appender().append(append(), yes)).toEqual({ outcome: 'overtaken' });
  expect(session.taken()).toEqual(['begin update meta,insert maps', 'abort']);
});
