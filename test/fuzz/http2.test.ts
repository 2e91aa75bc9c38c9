import { Flag, FrameType, PREFACE } from '../../packages/http2/src/frames/frame.js';
import { encode, type Peer, SessionServer } from '../../packages/http2/test/peer.js';
import { Random } from '../model/random.js';

/** HTTP2_FUZZ_RUNS is the number of connections. A failing run prints the seed of its connection, to be passed in ANNEX_FUZZ_SEED. */
const RUNS = Number(process.env['HTTP2_FUZZ_RUNS'] ?? 150);
const SEED = Number(process.env['ANNEX_FUZZ_SEED'] ?? 1);
const MOST_FRAMES = 40;
const MOST_STREAMS = 10;
const LONGEST_MILLIS = 60_000;

const TYPES = [...Object.values(FrameType), 10, 0x7f, 0xff];
const FLAGS = [0, Flag.endStream, Flag.endHeaders, Flag.endStream | Flag.endHeaders, Flag.padded, Flag.priority, 0xff];
const FIELDS = [
  ['content-length', '3'],
  ['content-length', '99999999999999999999'],
  ['te', 'trailers'],
  ['connection', 'close'],
  ['expect', '100-continue'],
  ['cookie', 'a=b'],
  [':path', '/twice'],
  ['Upper', 'x'],
  ['x-long', 'y'.repeat(5000)],
] as const;

const server = new SessionServer();
beforeAll(async () => {
  // Handlers respond at once, after the body, in parts, or never, or break off.
  server.handle = (request, response) => {
    switch (request.url) {
      case '/echo':
        request.on('data', (chunk) => response.write(chunk as Uint8Array));
        request.on('end', () => response.end());
        return;
      case '/parts':
        for (let i = 0; i < 20; i++) response.write(Buffer.alloc(7000));
        response.end();
        return;
      case '/cut':
        response.write('some');
        response.destroy();
        return;
      case '/never':
        return;
      default:
        response.end('ok');
    }
  };
  await server.listen();
});
afterAll(() => server.close());

const noise = (random: Random, length: number): Buffer => Buffer.from(Array.from({ length }, () => random.below(256)));

/** Sends a frame of any kind, most of them almost valid. */
function frame(random: Random, peer: Peer, opened: { last: number }): void {
  const known = random.pick([0, 1, 2, opened.last, Math.max(1, opened.last - 2), opened.last + 2, 2 ** 31 - 1]);
  const open = (): number => (opened.last += 2);
  random.weighted<() => void>([
    [
      8,
      () => {
        const path = random.pick(['/', '/echo', '/parts', '/cut', '/never']);
        const fields = random.once(3) ? [random.pick(FIELDS)] : [];
        peer.request(open(), { method: random.pick(['GET', 'POST', 'HEAD']), path, end: random.once(2), fields });
      },
    ],
    [6, () => peer.data(known, noise(random, random.pick([0, 1, 3, 300, 16_384])), random.once(3))],
    [3, () => peer.window(known, random.pick([0, 1, 1000, 65_535, 2 ** 31 - 1, 2 ** 32 - 1]))],
    [2, () => peer.reset(known)],
    [2, () => peer.settings([[random.below(9), random.pick([0, 1, 2, 16_384, 65_535, 2 ** 31 - 1, 2 ** 32 - 1])]])],
    [2, () => peer.send(FrameType.headers, random.pick(FLAGS), open(), noise(random, random.below(60)))],
    [
      2,
      () => {
        const block = encode([[':method', 'GET'], [':scheme', 'https'], [':path', '/'], random.pick(FIELDS)]);
        const at = random.below(block.length);
        const stream = open();
        peer.send(FrameType.headers, random.pick([0, Flag.endStream]), stream, block.subarray(0, at));
        peer.send(FrameType.continuation, random.pick(FLAGS), random.once(9) ? known : stream, block.subarray(at));
      },
    ],
    [1, () => peer.send(random.pick(TYPES), random.pick(FLAGS), known, noise(random, random.below(20)))],
  ])();
}

/** Sends frames. Returns once the connection has answered a ping after them or has ended, unless noise hides that. */
async function attack(seed: number): Promise<Peer> {
  const random = new Random(seed);
  const peer = server.stranger();
  peer.raw(random.once(30) ? Buffer.concat([PREFACE.subarray(0, random.below(24)), noise(random, 24)]) : PREFACE);
  if (!random.once(20)) peer.settings([]);
  const opened = { last: -1 };
  for (let i = random.below(MOST_FRAMES); i > 0; i--) {
    frame(random, peer, opened);
    // Occasionally the server processes the previous frames by themselves.
    if (random.once(6)) await new Promise((resolve) => setImmediate(resolve));
  }
  if (random.once(8)) {
    // To the server, anything after this may be part of a frame, so it gets no response.
    peer.raw(noise(random, 1 + random.below(40)));
    return peer;
  }
  await peer.ping().catch(() => undefined);
  return peer;
}

/** Returns the violations that no client may ever see, whatever it sends. */
function faults(peer: Peer): string[] {
  const found: string[] = [];
  const ended = new Set<number>();
  for (const { type, flags, stream, payload } of peer.frames) {
    if (payload.length > 16_384) found.push(`a frame of ${payload.length} bytes`);
    if (type === FrameType.goaway && payload.readUInt32BE(4) === 2) found.push('INTERNAL_ERROR');
    if (type !== FrameType.data && type !== FrameType.headers) continue;
    if (stream % 2 !== 1) found.push(`an answer on stream ${stream}`);
    if (ended.has(stream)) found.push(`stream ${stream} goes on after its end`);
    if ((flags & Flag.endStream) !== 0) ended.add(stream);
  }
  return found;
}

test(
  `${RUNS} connections with frames of any kind: none harms the server, or another`,
  async () => {
    for (let seed = SEED; seed < SEED + RUNS; seed++) {
      const waiting = setTimeout(() => {
        throw new Error(`seed ${seed}: the connection neither answers nor ends`);
      }, LONGEST_MILLIS);
      const peer = await attack(seed);
      clearTimeout(waiting);
      const sizes = server.sessions.filter(({ size }) => size > MOST_STREAMS);
      expect({ seed, faults: faults(peer), sizes: sizes.length }).toEqual({ seed, faults: [], sizes: 0 });
      peer.close();
      const other = await server.peer();
      other.request(1);
      expect((await other.answer(1)).body).toBe('ok');
      other.close();
      await Promise.all(server.sessions.splice(0).map(({ closed }) => closed));
    }
  },
  LONGEST_MILLIS + RUNS * 1000,
);
