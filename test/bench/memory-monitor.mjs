// Loaded into a server under measurement: answers with its memory, after a collection of garbage where one is asked for.
process.on('message', (wanted) => {
  if (wanted === 'collected') globalThis.gc?.();
  const { rss, heapUsed, external, arrayBuffers } = process.memoryUsage();
  process.send?.({ rss, heapUsed, external, arrayBuffers });
});
process.channel?.unref();
