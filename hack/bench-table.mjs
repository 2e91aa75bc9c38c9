// Prints a table of benchmark reports, one column per variant, with medians over the rounds:  node hack/bench-table.mjs FOLDER
// The folder contains files <Node's major version>.<name of the bundle>.<round>.json, as the load program prints them.
import { readdirSync, readFileSync } from 'node:fs';
import { cpus, loadavg, totalmem } from 'node:os';
import { join } from 'node:path';

const folder = process.argv[2];
const variants = new Map();
for (const file of readdirSync(folder).sort()) {
  const [major, main] = file.split('.');
  const name =
    main === 'main' ? `Node ${major}` : `Node ${major} ${main.replace('main-', '').replace('without-', 'without --')}`;
  if (!variants.has(name)) variants.set(name, new Map());
  const rows = variants.get(name);
  for (const result of JSON.parse(readFileSync(join(folder, file), 'utf8')).results) {
    if (!rows.has(result.scenario)) rows.set(result.scenario, []);
    rows.get(result.scenario).push(result);
  }
}

function median(values) {
  const sorted = values.toSorted((a, b) => a - b);
  const middle = sorted.length / 2;
  return sorted.length % 2 === 1 ? sorted[Math.floor(middle)] : (sorted[middle - 1] + sorted[middle]) / 2;
}
const figure = (value) => (value < 1 ? value.toFixed(3) : value.toFixed(value < 10 ? 2 : 1));
const names = [...variants.keys()];
const scenarios = [...variants.get(names[0]).keys()];
const rounds = variants.get(names[0]).get(scenarios[0]).length;

/** Prints one table of the values that `pick` returns for a result. Scenarios without operations appear only in the table of metrics. */
function table(title, unit, pick) {
  console.log(`\n## ${title}\n`);
  console.log(`| scenario | ${unit} | ${names.join(' | ')} |`);
  console.log(`|---|---|${names.map(() => '---:|').join('')}`);
  for (const scenario of scenarios) {
    const [{ metric, ops }] = variants.get(names[0]).get(scenario);
    if (unit !== 'metric' && ops === 0) continue;
    const cells = names.map((name) => {
      const results = variants.get(name).get(scenario) ?? [];
      return results.length === 0 ? '' : figure(median(results.map(pick)));
    });
    console.log(`| ${scenario} | ${unit === 'metric' ? metric : unit} | ${cells.join(' | ')} |`);
  }
}

console.log(`# Annex on ${names.join(', ')}\n`);
console.log(
  `${cpus().length} CPUs, ${Math.round(totalmem() / 2 ** 30)} GB, everything on loopback; medians of ${rounds} alternating rounds; load average at the end ${loadavg()[1].toFixed(1)}.`,
);
table('Throughput and memory', 'metric', ({ value }) => value);
table('p99 latency', 'ms', (result) => result.p99_ms);
table('CPU of the server', 'ms per operation', (result) => result.server_cpu_ms_per_op);
