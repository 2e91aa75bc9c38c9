import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { entangledRooms, importsOf } from '../hack/rooms.cjs';

const ROOT = join(__dirname, '..');
const text = readFileSync(join(ROOT, 'ARCHITECTURE.md'), 'utf8');

/** The picture of the layers: the folders of each node, and the arrows between nodes. */
function picture(): { nodes: Map<string, readonly string[]>; arrows: readonly (readonly [string, string])[] } {
  const chart = /```mermaid\n([^]*?)```/.exec(text)?.[1] ?? '';
  const nodes = new Map<string, readonly string[]>();
  for (const [, id = '', label = ''] of chart.matchAll(/(\w+)\["([^"]*)"\]/g)) {
    const names = (label.split('<br/>')[0] ?? '').split(' · ').map((name) => name.replace(/\/$/, ''));
    nodes.set(
      id,
      names.map((name) => (name.startsWith('packages/') ? name : `src/${name}`)),
    );
  }
  const arrows = [...chart.matchAll(/^ {2}(\w+)(?:\[[^\]]*\])? --> (\w+)/gm)];
  return { nodes, arrows: arrows.map(([, from = '', to = '']) => [from, to] as const) };
}

/** Returns the node of each import between two layers, without repetitions. */
function layers(nodes: ReadonlyMap<string, readonly string[]>): Set<string> {
  const nodeOf = (path: string): string => {
    const folder = path.split('/').slice(0, 2).join('/');
    return [...nodes].find(([, folders]) => folders.includes(folder))?.[0] ?? folder;
  };
  const imports = importsOf('src', 'packages').map(({ from, to }) => [nodeOf(from), nodeOf(to)]);
  return new Set(imports.filter(([from, to]) => from !== to).map((pair) => pair.join(' ')));
}

describe('the picture in ARCHITECTURE.md', () => {
  const { nodes, arrows } = picture();
  const seen = layers(nodes);
  const below = new Map([...nodes.keys()].map((id) => [id, arrows.filter(([a]) => a === id).map(([, b]) => b)]));
  const reaches = (from: string, to: string): boolean =>
    (below.get(from) ?? []).some((next) => next === to || reaches(next, to));

  test('has each folder of the sources', () => {
    const drawn = [...nodes.values()].flat();
    const folders = readdirSync(join(ROOT, 'src'), { withFileTypes: true }).filter((entry) => entry.isDirectory());
    expect(folders.map(({ name }) => `src/${name}`).filter((name) => !drawn.includes(name))).toEqual([]);
    expect(drawn.filter((name) => !existsSync(join(ROOT, name)))).toEqual([]);
  });

  test('shows each import as a way down', () => {
    expect([...seen].filter((pair) => !reaches(...(pair.split(' ') as [string, string])))).toEqual([]);
  });

  test('has no arrow without an import, and none upward', () => {
    expect(arrows.filter((arrow) => !seen.has(arrow.join(' ')))).toEqual([]);
    expect([...nodes.keys()].filter((id) => reaches(id, id))).toEqual([]);
  });
});

test('two rooms that import each other are found, whatever lies between their files', () => {
  const imports = [
    { from: 'src/a/one/x.ts', to: 'src/a/two/deep/y.js' },
    { from: 'src/a/one/z.ts', to: 'src/a/two/y.js' },
    { from: 'src/a/two/y.ts', to: 'src/a/one/x.js' },
    { from: 'src/a/one/x.ts', to: 'src/a/loose.js' },
    { from: 'src/a/loose.ts', to: 'src/a/one/x.js' },
    { from: 'src/b/x.ts', to: 'src/a/one/x.js' },
  ];
  expect(entangledRooms(imports)).toEqual([{ from: 'src/a/two', to: 'src/a/one' }]);
});

/** The files that construct a server import whatever it consists of. */
const COMPOSING = /^src\/server\/compose\/(?:aggregated|aggregated-plane|plane|run|standalone)\.ts$/;
/** Files that still import more than 25 others, and how many they may. */
const IMPORTS: Readonly<Record<string, number>> = {
  'src/endpoints/handlers/patch.ts': 26,
  'src/offload/task-runner.ts': 31,
};

test('no other file imports more than 25 files', () => {
  const counts = new Map<string, Set<string>>();
  for (const { from, to } of importsOf('src', 'packages')) {
    if (to.startsWith('packages/') && from.startsWith('src/')) continue;
    counts.set(from, (counts.get(from) ?? new Set()).add(to));
  }
  const over = [...counts].filter(([file, { size }]) => !COMPOSING.test(file) && size > (IMPORTS[file] ?? 25));
  expect(over.map(([file, { size }]) => `${file} ${String(size)}`)).toEqual([]);
  expect(Object.keys(IMPORTS).filter((file) => (counts.get(file)?.size ?? 0) <= 25)).toEqual([]);
});

test('no folder has more than 20 source files', () => {
  const files = new Map<string, number>();
  for (const name of readdirSync(join(ROOT, 'src'), { recursive: true, encoding: 'utf8' })) {
    if (!name.endsWith('.ts') || /\.(?:test|d)\.ts$/.test(name)) continue;
    files.set(dirname(name), (files.get(dirname(name)) ?? 0) + 1);
  }
  expect([...files].filter(([, count]) => count > 20)).toEqual([]);
});
