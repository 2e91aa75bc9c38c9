import fc from 'fast-check';
import { readdirSync } from 'node:fs';
import { eventually, scratchFolder, TestServer, ADMIN } from '../integration/server.js';
import type { FuzzAnswer, FuzzRequest } from './client.js';
import { BUILT_IN, CUSTOM, PLAIN, RULES } from './fixtures.js';
import { reads, watches } from './requests.js';
import { FuzzSession } from './session.js';
import { writes } from './writes.js';

/** ANNEX_FUZZ_SECONDS is the duration; ANNEX_FUZZ_SEED selects other requests. */
const SECONDS = Number(process.env['ANNEX_FUZZ_SECONDS'] ?? 20);
const SEED = Number(process.env['ANNEX_FUZZ_SEED'] ?? 1);
const WORKERS = 16;
const BATCH = 400;
const KINDS = [...CUSTOM, ...PLAIN, ...BUILT_IN, ...RULES];
const REQUESTS = fc.oneof(
  { weight: 6, arbitrary: reads(KINDS) },
  { weight: 2, arbitrary: watches(KINDS) },
  { weight: 8, arbitrary: writes(KINDS) },
);

/** Patterns of 500 responses that kube-apiserver, too, returns for client errors. */
const CLIENTS_FAULT = [
  /strconv\.ParseUint/,
  /resourceVersion should not be set on objects to be created/,
  /failed to create typed (?:patch|live) object/,
  /failed to create RequestInfo/,
  /failed to convert new object/,
  /unknown patch type/,
  /does not contain declared merge key/,
  /The order in patch list/,
  /expected a .*, but received a/,
  /merging an object in json but data type is not struct/,
  /unable to find api field in struct/,
  /unexpected slice of slice|expected slice or array type/,
  /list element types are not identical|no elements in any of the given slices/,
  /cannot merge lists without merge key|merging lists cannot yet be specified/,
  /failed to create manager for existing fields/,
  /content is not a list/,
  /cannot unmarshal .* into Go/,
  /parsing time/,
  /quantities must match the regular expression/,
  /illegal base64 data/,
  /Object 'apiVersion' is missing/,
  /the spec replicas field .* does not exist/,
];

const folder = scratchFolder(async () => server?.stop('SIGKILL'));
let server: TestServer | undefined;
let session: FuzzSession | undefined;

beforeAll(async () => {
  server = await TestServer.start(folder, ['--controllers=', '--feature-gates=WatchList=true']);
  session = new FuzzSession({ url: server.url, token: ADMIN, ca: server.ca }, 'fuzz-');
  await session.define();
  await session.reset();
});

interface Figures {
  readonly heap: number;
  readonly files: number;
  readonly inFlight: number;
  readonly watches: number;
}

async function figures(): Promise<Figures> {
  const answer = await (session as FuzzSession).send({ method: 'GET', path: '/metrics', headers: {} });
  const lines = answer.body.toString().split('\n');
  const sum = (name: string): number =>
    lines
      .filter((line) => line.startsWith(`${name}{`) || line.startsWith(`${name} `))
      .reduce((total, line) => total + Number(line.slice(line.lastIndexOf(' ') + 1)), 0);
  return {
    heap: sum('nodejs_heap_size_used_bytes'),
    files: readdirSync(`/proc/${String(server?.pid)}/fd`).length,
    inFlight: sum('apiserver_current_inflight_requests'),
    watches: sum('apiserver_longrunning_requests'),
  };
}

function complaint(one: FuzzRequest, answer: FuzzAnswer | Error): string | undefined {
  const shown = JSON.stringify(one).slice(0, 2000);
  if (answer instanceof Error) return `${shown}\n${answer.message}`;
  const text = answer.body.toString('latin1');
  if (answer.status < 500 || answer.status === 504) return undefined;
  if (answer.status === 500 && CLIENTS_FAULT.some((pattern) => pattern.test(text))) return undefined;
  return `${shown}\n${String(answer.status)} ${text.slice(0, 1000)}`;
}

/** Sends requests until the time is up and enough were sent. Returns the number sent, and the complaints about the responses. */
async function fuzz(seconds: number, seed: number): Promise<{ sent: number; complaints: string[] }> {
  const end = performance.now() + seconds * 1000;
  const goesOn = (): boolean => performance.now() < end || sent < seconds * 10;
  const complaints: string[] = [];
  let sent = 0;
  for (let round = 0; goesOn() && complaints.length === 0; round++) {
    const requests = fc.sample(REQUESTS, { numRuns: BATCH, seed: seed + round });
    const work = async (): Promise<void> => {
      for (let one = requests.pop(); one !== undefined && goesOn(); one = requests.pop()) {
        const answer = await (session as FuzzSession).send(one).catch((error: unknown) => error as Error);
        sent++;
        const wrong = complaint(one, answer);
        if (wrong !== undefined) complaints.push(wrong);
      }
    };
    await Promise.all(Array.from({ length: WORKERS }, work));
  }
  return { sent, complaints };
}

test(
  `mutated requests are answered, and leave nothing behind (seed ${String(SEED)})`,
  async () => {
    // Everything created on first use is created before the first measurement.
    const warmUp = await fuzz(SECONDS / 4, SEED ^ 1);
    expect(warmUp.complaints).toEqual([]);
    const settled = async (): Promise<Figures> =>
      eventually('nothing in flight', async () => {
        const now = await figures();
        // This request itself is in flight.
        return now.inFlight <= 1 && now.watches === 0 ? now : undefined;
      });
    const before = await settled();
    const { sent, complaints } = await fuzz(SECONDS, SEED);
    expect(complaints).toEqual([]);
    expect(sent).toBeGreaterThanOrEqual(SECONDS * 10);
    expect(server?.log).not.toMatch(/"level":"error"/);
    await eventually('as many files are open as before', async () => {
      const { files } = await settled();
      return files <= before.files + WORKERS ? files : undefined;
    });
    // A garbage collection may still be pending.
    await eventually('the heap is as large as it was', async () => {
      const { heap } = await figures();
      return heap < before.heap * 1.5 + 20 * 2 ** 20 ? heap : undefined;
    });
  },
  (SECONDS * 2 + 600) * 1000,
);
