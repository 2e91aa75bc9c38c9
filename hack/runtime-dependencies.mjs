// Prints the folders of the packages that the program needs at run time, one a line.
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

const seen = new Set();
function visit(folder) {
  if (seen.has(folder)) return;
  seen.add(folder);
  const { dependencies = {}, optionalDependencies = {} } = JSON.parse(
    readFileSync(join(folder, 'package.json'), 'utf8'),
  );
  for (const name of Object.keys({ ...dependencies, ...optionalDependencies })) {
    const places = [join(folder, 'node_modules', name), join('node_modules', name)];
    const found = places.find((place) => existsSync(join(place, 'package.json')));
    if (found !== undefined) visit(found);
  }
}
const ours = ['.', ...readdirSync('packages').map((name) => join('packages', name))];
ours.forEach(visit);
ours.forEach((folder) => seen.delete(folder));
// A package inside another one is copied with it.
console.log(
  [...seen].filter((folder) => folder.lastIndexOf('node_modules') === 0 && !folder.includes('@annex/')).join('\n'),
);
