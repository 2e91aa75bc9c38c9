import { join } from 'node:path';
import { Worker } from 'node:worker_threads';
import { build } from 'esbuild';
import { STACK } from '../../src/offload/start.js';
import { PATIENCE_MILLIS, ROOT } from './server.js';

test(
  'what recurses on values that clients choose takes 9,990 levels with the stack of a worker',
  async () => {
    const { outputFiles } = await build({
      entryPoints: [join(ROOT, 'test/fixtures/deep-functions.ts')],
      bundle: true,
      platform: 'node',
      format: 'cjs',
      write: false,
      // Where the data files are looked up from.
      define: { 'import.meta.dirname': JSON.stringify(ROOT) },
    });
    const worker = new Worker(outputFiles[0]?.text ?? '', { eval: true, resourceLimits: { stackSizeMb: STACK } });
    const outcome = await new Promise((resolve, reject) => worker.once('message', resolve).once('error', reject));
    await worker.terminate();
    expect(outcome).toEqual({ ran: 26, failed: [] });
  },
  PATIENCE_MILLIS,
);
