import { writeHeapSnapshot } from 'node:v8';

// Loaded into the measured server: reports its memory, after a garbage collection or a heap snapshot if requested.
process.on('message', (wanted) => {
  if (wanted !== 'now') globalThis.gc?.();
  const snapshot = /^snapshot (.*)$/.exec(wanted);
  if (snapshot !== null) writeHeapSnapshot(snapshot[1]);
  const { rss, heapUsed, external, arrayBuffers } = process.memoryUsage();
  process.send?.({ rss, heapUsed, external, arrayBuffers });
});
process.channel?.unref();
