// Prints the tests that jest skipped, by file, with the reason if the title has one, and then those that failed, with the beginning of
// their messages:  node hack/outcomes.mjs REPORT...
import { existsSync, readFileSync } from 'node:fs';
import { relative } from 'node:path';

/** The number of lines of a message. Continuous integration may show only the end of its output. */
const LINES = 6;

const files = process.argv
  .slice(2)
  // Some tests may not have run.
  .filter((report) => existsSync(report))
  .flatMap((report) => JSON.parse(readFileSync(report, 'utf8')).testResults)
  .map(({ name, ...file }) => ({ ...file, path: relative(process.cwd(), name) }));

for (const { path, assertionResults } of files) {
  const skipped = assertionResults.filter(({ status }) => status === 'pending');
  if (skipped.length === 0) continue;
  const reasons = new Set(
    skipped.map(({ fullName, title }) => /\(skipped[^)]*\)|^MongoDB: .*/.exec(fullName)?.[0] ?? title),
  );
  console.log(`skipped: ${path}: ${skipped.length} (${[...reasons].slice(0, 3).join('; ')})`);
}

function printFailure(path, name, message) {
  const lines = message.replace(/\x1b\[\d*m/g, '').split('\n');
  const beginning = lines.filter((line) => line.trim() !== '').slice(0, LINES);
  console.log([`failed: ${path}: ${name}`, ...beginning.map((line) => `    ${line.trim()}`)].join('\n'));
}

for (const { path, status, message, assertionResults } of files) {
  if (status !== 'failed') continue;
  const failed = assertionResults.filter((result) => result.status === 'failed');
  for (const { fullName, failureMessages } of failed) printFailure(path, fullName, failureMessages.join('\n'));
  if (failed.length === 0) printFailure(path, 'could not run', message);
}
