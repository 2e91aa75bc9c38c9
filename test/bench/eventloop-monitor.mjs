// Loaded into the server with --import by eventloop.mjs: reports the longest gap between two turns of the event loop.
const EVERY = 2;
let last = performance.now();
let cpu = process.cpuUsage();
let worst = { gap: 0, cpu: 0 };

setInterval(() => {
  const now = performance.now();
  const used = process.cpuUsage(cpu);
  const gap = now - last - EVERY;
  if (gap > worst.gap) worst = { gap, cpu: (used.user + used.system) / 1000 };
  last = now;
  cpu = process.cpuUsage();
}, EVERY).unref();

process.on('message', () => {
  const rss = process.memoryUsage.rss() / (1 << 20);
  process.send({ ...worst, rss });
  worst = { gap: 0, cpu: 0 };
});
process.channel.unref();
