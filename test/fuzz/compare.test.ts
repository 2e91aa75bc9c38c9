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
 * Sends the same mutated requests to Annex and to a kube-apiserver, and compares their responses. ANNEX_REFERENCE is `url,token,file of its
 * CA`; ANNEX_FUZZ_COUNT is the number of requests of each sort, ANNEX_FUZZ_SEED the seed of the first. Differences are listed in
 * .cache/fuzz/.
 */
const REFERENCE = process.env['ANNEX_REFERENCE'];
const COUNT = Number(process.env['ANNEX_FUZZ_COUNT'] ?? 1000);
const SEED = Number(process.env['ANNEX_FUZZ_SEED'] ?? 1);
const KINDS = [...CUSTOM, ...PLAIN, ...BUILT_IN, ...RULES];
const OWNED = KINDS.filter(({ root }) => !root.endsWith('v1beta1'));
/** Sorts that change objects: their requests run one at a time, from scratch after the two servers disagree. */
const CHANGING = new Set(['writes', 'ownership', 'shapes']);
/** Sorts with several invalid fields, whose errors kube-apiserver reports in random order. */
const UNORDERED = new Set(['ratcheting', 'shapes']);
const WIDTH = 32;
/** The tolerated percentage of differences: ages, compactions, and differences that no client would notice. */
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

  /** Reports whether both servers accepted or both refused the request; other differences are recorded. */
  async function compare(one: FuzzRequest, unordered: boolean): Promise<boolean> {
    const [reference, annex] = sessions;
    const [theirs, ours] = await Promise.all([ask(reference, one), ask(annex, one)]);
    // kube-apiserver breaks off if a body makes it panic. Lists over all namespaces include unrelated objects there.
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
