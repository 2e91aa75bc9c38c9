import { join } from 'node:path';
import { scratchFolder } from '../integration/server.js';
import { findMongod, Mongod } from '../storage/mongod.js';
import { campaign, WINDOW_SECONDS } from './campaign.js';
import { Pair, type Replica } from './replicas.js';
import { ALL_FAULTS, type Kind, LINK_FAULTS, SET_FAULTS } from './schedule.js';

const found = findMongod();
const described = 'path' in found ? describe : describe.skip;
if ('reason' in found) test.skip(`MongoDB: ${found.reason}`, () => undefined);

/** `make faults` sets both. Without a seed, the faults are the same in every run. */
const MINUTES = Number(process.env['ANNEX_FAULT_MINUTES'] ?? 2);
const SEED = Number(process.env['ANNEX_FAULT_SEED'] ?? 7);
/** Time for the start, the last fault, and the end of the work. */
const MARGIN_MILLIS = 8 * 60_000;

interface Suffering {
  readonly minutes: number;
  readonly kinds: readonly Kind[];
  readonly writers: (pair: Pair) => readonly Replica[];
  readonly members?: number;
  readonly ownLog?: boolean;
}

described('two servers on one MongoDB', () => {
  const pairs: Pair[] = [];
  const folder = scratchFolder(() => Promise.all(pairs.map((pair) => pair.end())));

  const suffered = async ({ minutes, kinds, writers, members = 1, ownLog = false }: Suffering): Promise<void> => {
    const lines: string[] = [`ANNEX_FAULT_SEED=${SEED}`];
    const report = (line: string): void => {
      lines.push(line);
      if (process.env['ANNEX_FAULT_MINUTES'] !== undefined) process.stderr.write(`${line}\n`);
    };
    const start = (): Promise<Mongod> => Mongod.start('path' in found ? found.path : '');
    const first = await start();
    const others = await Promise.all(Array.from({ length: members - 1 }, start));
    const options = { windowSeconds: WINDOW_SECONDS, ownLog };
    const pair = await Pair.start([first, ...others], join(folder, String(pairs.length)), options);
    pairs.push(pair);
    const millis = minutes * 60_000;
    const problems = await campaign({ pair, seed: SEED, millis, kinds, writers: writers(pair), report });
    await pair.end();
    if (problems.length > 0) throw new Error([...lines, ...problems].join('\n'));
  };

  test(
    'a server behind a cut-off proxy returns nothing under a revision it does not have',
    () => suffered({ minutes: MINUTES / 2, kinds: LINK_FAULTS, writers: ({ direct }) => [direct], ownLog: true }),
    MINUTES * 60_000 + MARGIN_MILLIS,
  );

  test(
    'faults lose, hide, and duplicate nothing, with one server behind a proxy',
    () => suffered({ minutes: MINUTES, kinds: ALL_FAULTS, writers: ({ replicas }) => replicas }),
    MINUTES * 60_000 + MARGIN_MILLIS,
  );

  test(
    'elections lose, hide, and duplicate nothing, with a log for one type',
    () =>
      suffered({
        minutes: MINUTES / 2,
        kinds: SET_FAULTS,
        writers: ({ replicas }) => replicas,
        members: 3,
        ownLog: true,
      }),
    MINUTES * 60_000 + MARGIN_MILLIS,
  );
});
