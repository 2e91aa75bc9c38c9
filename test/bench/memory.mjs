// Measures the memory of a large collection: at rest, while it is listed in every form, and with clients that do not read.
//   node test/bench/memory.mjs [--objects 200000] [--size 1024] [--port 6496] [--dist dist/main.js]
// Starts a server of its own on an empty store. `live` is the JavaScript heap and the buffers outside of it (MB) after a
// garbage collection; `peak` is the highest value sampled meanwhile. The exit code reports whether every list kept the live memory below
// twice its value at rest, and whether clients that do not read were disconnected.
import { connect as connectTls } from 'node:tls';
import { parseArgs } from 'node:util';
import { BenchServer, DIST, pause } from './server.mjs';

const { values: flags } = parseArgs({
  options: {
    objects: { type: 'string', default: '200000' },
    size: { type: 'string', default: '1024' },
    port: { type: 'string', default: '6496' },
    dist: { type: 'string', default: DIST },
  },
});
const objects = Number(flags.objects);
const COLLECTION = '/api/v1/namespaces/default/configmaps';
const ALL = '/api/v1/configmaps';
const CUT_SECONDS = 10;
const SLOW_READERS = 32;
const server = new BenchServer({
  dist: flags.dist,
  port: flags.port,
  flags: ['--feature-gates=WatchList=true', '--controllers=', `--request-timeout=${CUT_SECONDS}s`],
  node: ['--expose-gc'],
  monitor: 'memory-monitor.mjs',
});
const request = (...what) => server.request(...what);
const memory = (how) => server.ask(how);
const live = ({ heapUsed, external }) => heapUsed + external;
const mb = (bytes) => (bytes / 2 ** 20).toFixed(0);

async function load() {
  const text = 'x'.repeat(Number(flags.size));
  let next = 0;
  const work = async () => {
    for (let i = next++; i < objects; i = next++) {
      const name = `object-${String(i).padStart(7, '0')}`;
      const body = {
        apiVersion: 'v1',
        kind: 'ConfigMap',
        metadata: { name, labels: { part: String(i % 100) } },
        data: { text },
      };
      const { status } = await request('POST', COLLECTION, JSON.stringify(body), {
        'content-type': 'application/json',
      });
      if (status !== 201) throw new Error(`create: ${status}`);
    }
  };
  await Promise.all(Array.from({ length: 64 }, work));
}

/** Runs `work`. Returns its result and the peak memory sampled meanwhile. */
async function watched(work) {
  const peak = { rss: 0, live: 0 };
  let over = false;
  const sampling = (async () => {
    while (!over) {
      const now = await memory('now');
      peak.rss = Math.max(peak.rss, now.rss);
      peak.live = Math.max(peak.live, live(now));
      await pause(20);
    }
  })();
  const result = await work();
  over = true;
  await sampling;
  return { result, peak };
}

const TABLE = 'application/json;as=Table;g=meta.k8s.io;v=v1';
const METADATA = 'application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1';
const lists = [
  ['resourceVersion=0', `${ALL}?resourceVersion=0`, {}],
  ['consistent', ALL, {}],
  ['gzip', ALL, { 'accept-encoding': 'gzip' }],
  ['Table', ALL, { accept: TABLE }],
  ['metadata', ALL, { accept: METADATA }],
  ['Protobuf', ALL, { accept: 'application/vnd.kubernetes.protobuf' }],
  ['YAML of 1 %', `${ALL}?labelSelector=part%3D7`, { accept: 'application/yaml' }],
  ['WatchList', `${ALL}?watch=1&sendInitialEvents=true&allowWatchBookmarks=true&resourceVersionMatch=NotOlderThan`, {}],
];

/** Opens connections that request the list and read nothing. Returns how many the server has closed after twice its timeout. */
async function slowReaders(path) {
  let ended = 0;
  const sockets = Array.from({ length: SLOW_READERS }, () => {
    const socket = connectTls({ port: Number(flags.port), host: '127.0.0.1', rejectUnauthorized: false });
    socket.on('error', () => undefined);
    socket.on('secureConnect', () => {
      socket.write(`GET ${path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer secret\r\n\r\n`);
      socket.pause();
    });
    return socket;
  });
  await pause(CUT_SECONDS * 2000);
  // A client that does not read does not notice the end, so all sockets resume reading.
  const ends = sockets.map(
    (socket) =>
      new Promise((resolve) => {
        const timer = setTimeout(resolve, 2000);
        socket.on('close', () => {
          ended++;
          clearTimeout(timer);
          resolve();
        });
        socket.resume();
      }),
  );
  await Promise.all(ends);
  for (const socket of sockets) socket.destroy();
  return ended;
}

let failed = false;
try {
  await server.start();
  const empty = await memory('collected');
  const begun = performance.now();
  await load();
  const seconds = (performance.now() - begun) / 1000;
  const loaded = await memory('collected');
  console.log(`${objects} objects of ${flags.size} bytes, written in ${seconds.toFixed(0)} s\n`);
  console.log('| memory, MB | RSS | live | peak RSS | peak live | MB sent | s |\n|---|---|---|---|---|---|---|');
  console.log(`| empty | ${mb(empty.rss)} | ${mb(live(empty))} | | | | |`);
  console.log(`| loaded | ${mb(loaded.rss)} | ${mb(live(loaded))} | | | | |`);
  const row = async (name, work) => {
    const from = performance.now();
    const { result, peak } = await watched(work);
    const took = (performance.now() - from) / 1000;
    const after = await memory('collected');
    const verdict = live(after) < 2 * live(loaded) ? '' : ' DOUBLED';
    failed ||= verdict !== '';
    const sent = result.bytes === undefined ? String(result) : mb(result.bytes);
    console.log(
      `| ${name}${verdict} | ${mb(after.rss)} | ${mb(live(after))} | ${mb(peak.rss)} | ${mb(peak.live)} | ${sent} | ${took.toFixed(1)} |`,
    );
  };
  for (const [name, path, headers] of lists) await row(name, () => request('GET', path, undefined, headers));
  await row('four at once', async () => {
    const all = await Promise.all(Array.from({ length: 4 }, () => request('GET', ALL)));
    return { bytes: all.reduce((sum, { bytes }) => sum + bytes, 0) };
  });
  let cut = 0;
  await row(`${SLOW_READERS} who do not read; cut off`, async () => (cut = await slowReaders(ALL)));
  failed ||= cut < SLOW_READERS;
} finally {
  await server.dispose();
}
process.exit(failed ? 1 : 0);
