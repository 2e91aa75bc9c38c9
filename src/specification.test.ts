import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

const ROOT = join(__dirname, '..');

// Located beside the sources: moving a file fails this test until docs/specification.md has the new name.
describe('the specification', () => {
  const text = readFileSync(join(ROOT, 'docs/specification.md'), 'utf8');
  const rows = text
    .split('\n')
    .filter((line) => /^\| .* \| `/.test(line))
    .map((line) => line.split(/(?<!\\)\|/).slice(1, -1));
  const files = (cell = ''): string[] => [...cell.matchAll(/`([^`]+)`/g)].map(([, name]) => name ?? '');

  test('every statement names its implementation and its test', () => {
    expect(rows.length).toBeGreaterThan(250);
    const bare = rows.filter(([, done, held]) => files(done).length === 0 || files(held).length === 0);
    expect(bare.map(([statement]) => statement)).toEqual([]);
  });

  test('the files that it names exist', () => {
    const named = rows.flatMap(([, done, held]) => [...files(done), ...files(held)]);
    expect(named.filter((name) => !existsSync(join(ROOT, name)))).toEqual([]);
    const tests = rows.flatMap(([, , held]) => files(held));
    expect(tests.filter((name) => !/\.test\.ts$|scenarios\/.*\.yaml$/.test(name))).toEqual([]);
  });
});
