import { writeHeapSnapshot } from 'node:v8';

// Loaded into a server under measurement: answers with its memory, after a collection of garbage or a heap snapshot where one is
// asked for.
process.on('message', (wanted) => {
  if (wanted !== 'now') globalThis.gc?.();
  const snapshot = /^snapshot (.*)$/.exec(wanted);
  if (snapshot !== null) writeHeapSnapshot(snapshot[1]);
  const { rss, heapUsed, external, arrayBuffers } = process.memoryUsage();
  process.send?.({ rss, heapUsed, external, arrayBuffers });
});
process.channel?.unref();
