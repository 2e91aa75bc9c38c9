// Bundles the program into a folder, dist/ unless another one is named: node hack/build.mjs [FOLDER]
// A few files load in a third of the time that hundreds of modules take. Types are looked at by `make typecheck`.
import { chmodSync, rmSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';

const root = join(dirname(fileURLToPath(import.meta.url)), '..');
const out = resolve(process.argv[2] ?? join(root, 'dist'));
/** What is started or imported from outside; what they share goes into chunks. */
const entries = [
  'main',
  'offload/worker',
  'cel/index',
  'schema/cel/index',
  // Of hack/docs.mjs.
  'server/metrics/aggregation-metrics',
  'server/options/options',
];

rmSync(out, { recursive: true, force: true });
await build({
  entryPoints: entries.map((name) => join(root, 'src', `${name}.ts`)),
  outbase: join(root, 'src'),
  outdir: out,
  chunkNames: 'chunks/[name]-[hash]',
  bundle: true,
  splitting: true,
  format: 'esm',
  platform: 'node',
  target: 'node20',
  packages: 'external',
  sourcemap: true,
  logLevel: 'warning',
  tsconfig: join(root, 'tsconfig.build.json'),
});
chmodSync(join(out, 'main.js'), 0o755);
