import fc from 'fast-check';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { ADMIN, ROOT, scratchFolder, TestServer } from '../integration/server.js';
import type { FuzzAnswer, FuzzRequest } from './client.js';
import { definitions } from './definitions.js';
import { duplicates } from './duplicates.js';
import { BUILT_IN, CUSTOM, PLAIN, RULES } from './fixtures.js';
import { normalise } from './normalise.js';
import { ownership } from './ownership.js';
import { LOOSE, ratcheting, STORED, STRICT } from './ratcheting.js';
import { reads, watches } from './requests.js';
import { FuzzSession } from './session.js';
import { shapes } from './shapes.js';
import { writes } from './writes.js';

/**
 * The same mutated requests to Annex and to a kube-apiserver, and their answers compared. ANNEX_REFERENCE is
 * `url,token,file of its CA`; ANNEX_FUZZ_COUNT the number of requests of each sort, ANNEX_FUZZ_SEED where they start. What
 * differs is listed in .cache/fuzz/.
 */
const REFERENCE = process.env['ANNEX_REFERENCE'];
const COUNT = Number(process.env['ANNEX_FUZZ_COUNT'] ?? 1000);
const SEED = Number(process.env['ANNEX_FUZZ_SEED'] ?? 1);
const KINDS = [...CUSTOM, ...PLAIN, ...BUILT_IN, ...RULES];
const OWNED = KINDS.filter(({ root }) => !root.endsWith('v1beta1'));
/** What changes the objects goes one by one, and begins anew when the two sides disagree. */
const CHANGING = new Set(['writes', 'ownership', 'shapes']);
/** What is wrong in several fields is told in an order that kube-apiserver leaves to chance. */
const UNORDERED = new Set(['ratcheting', 'shapes']);
const WIDTH = 32;
/** Ages, compactions and differences between two wholes that nobody would notice: so many in a hundred may be left. */
const TOLERATED = 2;

const sorts: readonly (readonly [string, fc.Arbitrary<FuzzRequest>])[] = [
  ['reads', reads(KINDS)],
  ['watches', watches(KINDS)],
  ['writes', writes(KINDS)],
  ['duplicates', duplicates(KINDS)],
  ['definitions', definitions],
  ['ownership', ownership(OWNED)],
  ['shapes', shapes],
  ['ratcheting', ratcheting],
];

const run = REFERENCE === undefined ? describe.skip : describe;

run('with kube-apiserver (skipped without ANNEX_REFERENCE, which names one)', () => {
  const folder = scratchFolder(async () => server?.stop('SIGKILL'));
  let server: TestServer | undefined;
  let sessions: readonly [reference: FuzzSession, annex: FuzzSession];
  const found: string[] = [];

  beforeAll(async () => {
    const [url = '', token = '', ca = ''] = (REFERENCE ?? '').split(',');
    server = await TestServer.start(folder, ['--controllers=', '--feature-gates=WatchList=true']);
    const prefix = `fuzz${Date.now().toString(36)}-`;
    sessions = [
      new FuzzSession({ url, token, ca: readFileSync(ca, 'utf8') }, prefix),
      new FuzzSession({ url: server.url, token: ADMIN, ca: server.ca }, prefix),
    ];
    await Promise.all(sessions.map((session) => session.define()));
    await Promise.all(sessions.map((session) => session.reset()));
  });

  const ask = (session: FuzzSession, one: FuzzRequest): Promise<FuzzAnswer> =>
    session
      .send(one)
      .catch((error: unknown) => ({ status: 0, headers: {}, body: Buffer.from(String(error)), cut: false }));

  /** Whether both took or both refused it; what else differs is noted. */
  async function compare(one: FuzzRequest, unordered: boolean): Promise<boolean> {
    const [reference, annex] = sessions;
    const [theirs, ours] = await Promise.all([ask(reference, one), ask(annex, one)]);
    // kube-apiserver breaks off where a body makes it panic; lists over all namespaces show what others have there.
    const foreign = theirs.status === 200 && ours.status === 200 && !/fuzz\.example|\{ns\}/.test(one.path);
    if (theirs.status === 0 || foreign) return true;
    const texts = [normalise(theirs, reference.namespace, unordered), normalise(ours, annex.namespace, unordered)];
    if (texts[0] !== texts[1]) found.push([JSON.stringify(one), ...texts].join('\n----\n'));
    return theirs.status < 300 === ours.status < 300;
  }

  test.each(sorts)(
    '%s',
    async (name, arbitrary) => {
      found.length = 0;
      if (name === 'ratcheting') {
        const path = '/apis/fuzz.example.com/v1/namespaces/{ns}/ratchets';
        await Promise.all(sessions.map((session) => session.tighten(LOOSE, STRICT, path, STORED)));
      }
      const requests = fc.sample(arbitrary, { numRuns: COUNT, seed: SEED });
      const work = async (): Promise<void> => {
        for (let one = requests.pop(); one !== undefined; one = requests.pop()) {
          const agreed = await compare(one, UNORDERED.has(name));
          if (!agreed && CHANGING.has(name)) await Promise.all(sessions.map((session) => session.reset()));
        }
      };
      await Promise.all(Array.from({ length: CHANGING.has(name) ? 1 : WIDTH }, work));
      const out = join(ROOT, '.cache/fuzz');
      mkdirSync(out, { recursive: true });
      writeFileSync(join(out, `${name}.txt`), found.join('\n\n========\n\n'));
      expect((found.length / COUNT) * 100).toBeLessThan(TOLERATED);
    },
    1_200_000,
  );
});
