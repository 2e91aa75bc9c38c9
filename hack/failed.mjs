// Prints the tests that failed, by file, with the beginning of each one's message:  node hack/failed.mjs REPORT...
import { readFileSync } from 'node:fs';
import { relative } from 'node:path';

/** Lines of a message. Continuous integration shows only the end of its output. */
const LINES = 6;

const print = (file, name, message) => {
  const lines = message.replace(/\x1b\[\d*m/g, '').split('\n');
  const beginning = lines.filter((line) => line.trim() !== '').slice(0, LINES);
  console.log([`failed: ${file}: ${name}`, ...beginning.map((line) => `    ${line.trim()}`)].join('\n'));
};

for (const report of process.argv.slice(2)) {
  let results;
  try {
    results = JSON.parse(readFileSync(report, 'utf8')).testResults;
  } catch {
    console.log(`failed: ${relative(process.cwd(), report)} was not written`);
    continue;
  }
  for (const { name, status, message, assertionResults } of results) {
    if (status !== 'failed') continue;
    const file = relative(process.cwd(), name);
    const failed = assertionResults.filter((result) => result.status === 'failed');
    for (const { fullName, failureMessages } of failed) print(file, fullName, failureMessages.join('\n'));
    if (failed.length === 0) print(file, 'could not run', message);
  }
}
