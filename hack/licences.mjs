// Lists the packages of a node_modules folder with their licenses, as a table:  node hack/licences.mjs FOLDER
// Fails if a package names no license, or one under which software licensed under Apache-2.0 may not be shipped.
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

const ALLOWED = new Set([
  'MIT',
  'Apache-2.0',
  'ISC',
  'BSD-2-Clause',
  'BSD-3-Clause',
  '0BSD',
  'BlueOak-1.0.0',
  'Unlicense',
  'CC0-1.0',
  'MIT-0',
  'Python-2.0',
]);

function* packagesIn(folder) {
  for (const entry of readdirSync(folder, { withFileTypes: true })) {
    if (!entry.isDirectory() || entry.name.startsWith('.')) continue;
    const path = join(folder, entry.name);
    if (entry.name.startsWith('@')) {
      yield* packagesIn(path);
      continue;
    }
    if (existsSync(join(path, 'package.json'))) yield JSON.parse(readFileSync(join(path, 'package.json'), 'utf8'));
    if (existsSync(join(path, 'node_modules'))) yield* packagesIn(join(path, 'node_modules'));
  }
}

/** Reports whether every license of at least one alternative of an SPDX expression is allowed. */
const allowed = (expression) =>
  expression
    .replace(/^\((.*)\)$/, '$1')
    .split(' OR ')
    .some((one) => one.split(' AND ').every((licence) => ALLOWED.has(licence.replace(/[()]/g, ''))));

const rows = new Map();
const refused = [];
for (const { name, version, license, licenses } of packagesIn(process.argv[2])) {
  if (name === undefined || version === undefined) continue;
  const given = license?.type ?? license ?? licenses?.map(({ type }) => type).join(' OR ') ?? '';
  rows.set(`${name} ${version}`, `| ${name} | ${version} | ${given} |`);
  if (!allowed(given)) refused.push(`${name} ${version}: ${given === '' ? 'names no licence' : given}`);
}
if (refused.length > 0) {
  console.error(`licences: not allowed:\n${refused.join('\n')}`);
  process.exit(1);
}
console.log('# Licences of the packages that Annex ships\n\n| package | version | licence |\n|---|---|---|');
for (const key of [...rows.keys()].sort()) console.log(rows.get(key));
