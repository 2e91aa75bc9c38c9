// Queries the npm registry for known vulnerabilities of the packages that Annex ships:  node hack/audit.mjs
import { spawnSync } from 'node:child_process';

/** Advisories by number in https://github.com/advisories (GHSA-…), each with the reason why it does not affect Annex. */
const ALLOWED = {};

const SEVERE = ['high', 'critical'];

const { stdout, error } = spawnSync('npm', ['audit', '--omit=dev', '--json'], { encoding: 'utf8', timeout: 120_000 });
let report = {};
try {
  report = JSON.parse(stdout);
} catch {
  // npm printed no valid JSON.
}
if (report.vulnerabilities === undefined) {
  console.log(`audit: skipped: ${report.message ?? error?.message ?? 'the registry does not answer'}`);
  process.exit(0);
}
const advisories = Object.values(report.vulnerabilities)
  .flatMap(({ via }) => via)
  .filter((via) => typeof via === 'object' && SEVERE.includes(via.severity));
const found = new Map(
  advisories.map(({ url, name, title, range }) => [url.split('/').at(-1), `${name} ${range}: ${title} (${url})`]),
);
for (const id of Object.keys(ALLOWED))
  if (!found.has(id)) console.log(`audit: ${id} is allowed and no longer reported: take it out`);
const refused = [...found].filter(([id]) => ALLOWED[id] === undefined);
for (const [, text] of refused) console.error(`audit: ${text}`);
console.log(`audit: ${found.size} severe advisories, ${found.size - refused.length} allowed`);
process.exit(refused.length > 0 ? 1 : 0);
