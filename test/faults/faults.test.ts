import { scratchFolder } from '../integration/server.js';
import { findMongod, Mongod } from '../storage/mongod.js';
import { campaign, WINDOW_SECONDS } from './campaign.js';
import { Pair } from './replicas.js';

const found = findMongod();
const described = 'path' in found ? describe : describe.skip;
if ('reason' in found) test.skip(`MongoDB: ${found.reason}`, () => undefined);

/** `make faults` sets them. */
const MINUTES = Number(process.env['ANNEX_FAULT_MINUTES'] ?? 2);
const SEED = Number(process.env['ANNEX_FAULT_SEED'] ?? Date.now() % 1_000_000);
/** For the start, the last fault and the end of the work. */
const MARGIN_MILLIS = 8 * 60_000;

described('two servers on one MongoDB, one of them behind a proxy', () => {
  let pair: Pair | undefined;
  const folder = scratchFolder(async () => pair?.end());

  test(
    'faults lose, hide and double nothing',
    async () => {
      const lines: string[] = [`ANNEX_FAULT_SEED=${SEED}`];
      const report = (line: string): void => {
        lines.push(line);
        if (process.env['ANNEX_FAULT_MINUTES'] !== undefined) process.stderr.write(`${line}\n`);
      };
      pair = await Pair.start(await Mongod.start('path' in found ? found.path : ''), folder, WINDOW_SECONDS);
      const problems = await campaign({ pair, seed: SEED, millis: MINUTES * 60_000, report });
      if (problems.length > 0) throw new Error([...lines, ...problems].join('\n'));
    },
    MINUTES * 60_000 + MARGIN_MILLIS,
  );
});
