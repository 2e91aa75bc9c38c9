// Bundles the program:
//   node hack/build.mjs [FOLDER] [--if-stale]
// into dist/ unless another folder is given. With --if-stale it builds only if the sources differ from those that the folder was
// built from. A few files load in a third of the time that hundreds of modules need. `make typecheck` checks the types.
import { createHash } from 'node:crypto';
import { chmodSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';

const root = join(dirname(fileURLToPath(import.meta.url)), '..');
const [folder] = process.argv.slice(2).filter((argument) => !argument.startsWith('--'));
const out = resolve(folder ?? join(root, 'dist'));
const DIGEST = '.sources';

/** Entry points: modules that are started or imported from outside. Code that they share goes into chunks. */
const entries = [
  'main',
  'offload/worker',
  'schema/cel/validator',
  // Used by hack/docs.mjs.
  'server/metrics/aggregation-metrics',
  'server/options/options',
];

/** Bundles the packages of this repository; all others stay external. */
const workspaces = {
  name: 'workspaces',
  setup({ onResolve }) {
    onResolve({ filter: /^@annex\// }, ({ path }) => ({ path: fileURLToPath(import.meta.resolve(path)) }));
  },
};

/** Returns a digest of all inputs of the bundle. */
function digest() {
  const hash = createHash('sha256');
  for (const name of ['hack/build.mjs', 'package-lock.json', 'tsconfig.json', 'tsconfig.build.json'])
    hash.update(readFileSync(join(root, name)));
  for (const part of ['src', 'packages']) {
    for (const name of readdirSync(join(root, part), { recursive: true }).sort()) {
      if (!name.endsWith('.ts') || name.endsWith('.test.ts')) continue;
      hash.update(`\0${part}/${name}\0`).update(readFileSync(join(root, part, name)));
    }
  }
  return hash.digest('hex');
}

function builtFrom() {
  try {
    return readFileSync(join(out, DIGEST), 'utf8');
  } catch {
    return undefined;
  }
}

const sources = digest();
if (!process.argv.includes('--if-stale') || builtFrom() !== sources) {
  // Built in a folder beside the target first, so that processes running the old build still find all of its files.
  const fresh = `${out}.${process.pid}`;
  await build({
    entryPoints: {
      ...Object.fromEntries(entries.map((name) => [name, join(root, 'src', `${name}.ts`)])),
      'cel/index': join(root, 'packages/cel/src/index.ts'),
    },
    outdir: fresh,
    chunkNames: 'chunks/[name]-[hash]',
    bundle: true,
    splitting: true,
    format: 'esm',
    platform: 'node',
    target: 'node20',
    packages: 'external',
    plugins: [workspaces],
    sourcemap: true,
    logLevel: 'warning',
    tsconfig: join(root, 'tsconfig.build.json'),
  });
  chmodSync(join(fresh, 'main.js'), 0o755);
  writeFileSync(join(fresh, DIGEST), sources);
  rmSync(out, { recursive: true, force: true });
  renameSync(fresh, out);
}
