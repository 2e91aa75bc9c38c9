// Measures the cost of the tracing code in a server that traces nothing:  node test/bench/untraced.mjs [ROUNDS]
// Two bundles alternate: that of the sources, and one without the tracing calls in the request path. Needs Go and a quiet machine.
import { execFileSync } from 'node:child_process';
import { cpSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { loadavg } from 'node:os';
import { join } from 'node:path';
import { here } from './server.mjs';

const rounds = Number(process.argv[2] ?? 2);
const root = join(here, '../..');
const scratch = join(root, '.cache/bench/untraced');
const SCENARIOS = '^(load_c16|create_c16|get_c16|get_rv0_c16|list_namespace_c16)$';

/** Tracing calls in the path of an untraced request, and what replaces them. */
const CALLS = {
  'src/registry/generic/store/instrumented-store.ts': [
    [/withSpan\('cacher\.Get', .*?, \(\) => (this\.inner\.get\(key, at\))\)/, '$1'],
    [/withSpan\('cacher\.GetList', .*?, \(\) => (this\.inner\.list\(at, options\))\)/, '$1'],
  ],
  'src/server/metrics/measured-backend.ts': [
    [/\(currentSpan\(\) === undefined \? work\(\) : traced\(operation, resource, work\)\)/, 'work()'],
  ],
  'src/endpoints/filters/timings.ts': [[/ {4}const \{ span \} = this;\n.*\n.*\n/, '']],
};

function bundle(name, calls) {
  const folder = join(scratch, name);
  mkdirSync(folder, { recursive: true });
  const sources = ['src', 'packages', 'hack'];
  for (const part of [...sources, 'data', 'package.json', 'package-lock.json', 'tsconfig.json', 'tsconfig.build.json'])
    cpSync(join(root, part), join(folder, part), { recursive: true });
  for (const [file, edits] of Object.entries(calls)) {
    let text = readFileSync(join(folder, file), 'utf8');
    for (const [pattern, rest] of edits) {
      if (!pattern.test(text)) throw new Error(`${file} has changed: ${String(pattern)} is not in it`);
      text = text.replace(pattern, rest);
    }
    writeFileSync(join(folder, file), text);
  }
  execFileSync(process.execPath, ['hack/build.mjs'], { cwd: folder, stdio: 'inherit' });
  for (const part of sources) rmSync(join(folder, part), { recursive: true });
  return join(folder, 'dist/main.js');
}

const bundles = { with: bundle('with', {}), without: bundle('without', CALLS) };
const seen = new Map();
for (let round = 0; round < rounds; round++) {
  for (const [name, main] of Object.entries(bundles)) {
    const env = { ...process.env, ALONE: 'yes', OBJECTS: '1000', ANNEX_MAIN: main, OUT: join(scratch, 'out.md') };
    env.BENCH_FLAGS ??= '-n 3000 -settle 500ms';
    const out = execFileSync('hack/bench.sh', [SCENARIOS], { cwd: root, env, maxBuffer: 1 << 26 });
    for (const { scenario, server_cpu_ms_per_op: cpu } of JSON.parse(out).results) {
      if (!seen.has(scenario)) seen.set(scenario, { with: [], without: [] });
      seen.get(scenario)[name].push(cpu.toFixed(4));
    }
  }
}
console.log(`CPU ms per operation, ${rounds} alternating rounds, load ${loadavg()[0].toFixed(1)}:`);
for (const [scenario, cpu] of seen)
  console.log(`${scenario}: with the calls ${cpu.with.join(', ')}; without ${cpu.without.join(', ')}`);
