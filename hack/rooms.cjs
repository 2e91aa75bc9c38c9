/** The imports between the folders of the sources, for the rules of dependency-cruiser and the tests of the architecture. */
const { readdirSync, readFileSync } = require('node:fs');
const { dirname, join, normalize } = require('node:path');

const IMPORT = /(?:from|import\()\s*['"](\.{1,2}\/[^'"]+|@annex\/[^'"]+)['"]/g;
const OMITTED = /(?:\.test|\.d)\.ts$|(?:^|\/)(?:node_modules|test)\//;

/** Returns the imports of all source files without tests: the file that imports, and what it imports. */
function importsOf(...roots) {
  const files = roots
    .flatMap((root) => readdirSync(root, { recursive: true }).map((name) => join(root, name)))
    .filter((file) => file.endsWith('.ts') && !OMITTED.test(file));
  return files.flatMap((from) =>
    [...readFileSync(from, 'utf8').matchAll(IMPORT)].map(([, name]) => ({
      from,
      to: name.startsWith('.')
        ? normalize(join(dirname(from), name))
        : name.replace(/^@annex\/([^/]+).*/, 'packages/$1/src/index.js'),
    })),
  );
}

/**
 * Returns the rooms of an import: the sibling folders in which its two files are. Undefined if one of them is a file beside the other's
 * folder.
 */
function roomsOf({ from, to }) {
  const [a, b] = [from.split('/'), to.split('/')];
  let depth = 0;
  while (depth < a.length - 1 && depth < b.length - 1 && a[depth] === b[depth]) depth++;
  if (depth >= a.length - 1 || depth >= b.length - 1) return undefined;
  return [a.slice(0, depth + 1).join('/'), b.slice(0, depth + 1).join('/')];
}

/** Returns the pairs of rooms that import each other: first the one that imports less of the other. */
function entangledRooms(imports) {
  const counts = new Map();
  for (const entry of imports) {
    const rooms = roomsOf(entry);
    if (rooms !== undefined) counts.set(rooms.join(' '), (counts.get(rooms.join(' ')) ?? 0) + 1);
  }
  return [...counts].flatMap(([key, count]) => {
    const [from, to] = key.split(' ');
    const back = counts.get(`${to} ${from}`) ?? 0;
    return back > count || (back === count && from < to) ? [{ from, to }] : [];
  });
}

module.exports = { importsOf, roomsOf, entangledRooms };
