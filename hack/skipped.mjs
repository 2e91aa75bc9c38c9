// Prints the tests that jest skipped, by file, with the reason if the title has one:  node hack/skipped.mjs REPORT...
import { readFileSync } from 'node:fs';
import { relative } from 'node:path';

for (const report of process.argv.slice(2)) {
  let results;
  try {
    results = JSON.parse(readFileSync(report, 'utf8')).testResults;
  } catch {
    continue;
  }
  for (const { name, assertionResults } of results) {
    const skipped = assertionResults.filter(({ status }) => status === 'pending');
    if (skipped.length === 0) continue;
    const reasons = new Set(
      skipped.map(({ fullName, title }) => /\(skipped[^)]*\)|^MongoDB: .*/.exec(fullName)?.[0] ?? title),
    );
    console.log(
      `skipped: ${relative(process.cwd(), name)}: ${skipped.length} (${[...reasons].slice(0, 3).join('; ')})`,
    );
  }
}
