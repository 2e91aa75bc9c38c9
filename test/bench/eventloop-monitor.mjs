// Loaded into the server with --import by eventloop.mjs: reports the longest gap between two turns of the event loop.
import { readFileSync } from 'node:fs';

const EVERY = 2;
// CPU time of this thread alone, in nanoseconds: other threads of the process keep working while it waits.
const STATISTICS = `/proc/self/task/${String(process.pid)}/schedstat`;
const cpuMillis = () => Number(readFileSync(STATISTICS, 'utf8').split(' ')[0]) / 1e6;

let last = performance.now();
let cpu = cpuMillis();
let worst = { gap: 0, cpu: 0 };

setInterval(() => {
  const now = performance.now();
  const gap = now - last - EVERY;
  const used = cpuMillis() - cpu;
  if (Math.min(gap, used) > Math.min(worst.gap, worst.cpu)) worst = { gap, cpu: used };
  last = performance.now();
  cpu = cpuMillis();
}, EVERY).unref();

process.on('message', () => {
  const { rss, heapUsed, external } = process.memoryUsage();
  const mb = (bytes) => Math.round(bytes / (1 << 20));
  process.send({ ...worst, rss: rss / (1 << 20), heap: mb(heapUsed), external: mb(external) });
  worst = { gap: 0, cpu: 0 };
});
process.channel.unref();
