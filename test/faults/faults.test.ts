import { join } from 'node:path';
import { scratchFolder } from '../integration/server.js';
import { findMongod, Mongod } from '../storage/mongod.js';
import { campaign, WINDOW_SECONDS } from './campaign.js';
import { Pair, type Replica } from './replicas.js';
import { ALL_FAULTS, type Kind, LINK_FAULTS } from './schedule.js';

const found = findMongod();
const described = 'path' in found ? describe : describe.skip;
if ('reason' in found) test.skip(`MongoDB: ${found.reason}`, () => undefined);

/** `make faults` sets them; without a seed the faults are the same in every run. */
const MINUTES = Number(process.env['ANNEX_FAULT_MINUTES'] ?? 2);
const SEED = Number(process.env['ANNEX_FAULT_SEED'] ?? 7);
/** For the start, the last fault and the end of the work. */
const MARGIN_MILLIS = 8 * 60_000;

described('two servers on one MongoDB, one of them behind a proxy', () => {
  const pairs: Pair[] = [];
  const folder = scratchFolder(() => Promise.all(pairs.map((pair) => pair.end())));

  const suffered = async (minutes: number, kinds: readonly Kind[], writers: (pair: Pair) => readonly Replica[]) => {
    const lines: string[] = [`ANNEX_FAULT_SEED=${SEED}`];
    const report = (line: string): void => {
      lines.push(line);
      if (process.env['ANNEX_FAULT_MINUTES'] !== undefined) process.stderr.write(`${line}\n`);
    };
    const mongod = await Mongod.start('path' in found ? found.path : '');
    const pair = await Pair.start(mongod, join(folder, String(pairs.length)), WINDOW_SECONDS);
    pairs.push(pair);
    const millis = minutes * 60_000;
    const problems = await campaign({ pair, seed: SEED, millis, kinds, writers: writers(pair), report });
    await pair.end();
    if (problems.length > 0) throw new Error([...lines, ...problems].join('\n'));
  };

  test(
    'a server that is cut off shows nothing under a revision that it does not have',
    () => suffered(MINUTES / 2, LINK_FAULTS, ({ direct }) => [direct]),
    MINUTES * 60_000 + MARGIN_MILLIS,
  );

  test(
    'faults lose, hide and double nothing',
    () => suffered(MINUTES, ALL_FAULTS, ({ replicas }) => replicas),
    MINUTES * 60_000 + MARGIN_MILLIS,
  );
});
