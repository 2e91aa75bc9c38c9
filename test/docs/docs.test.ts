import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { FLAGS } from '../../src/server/options/options.js';

const ROOT = join(__dirname, '../..');
const read = (name: string): string => readFileSync(join(ROOT, name), 'utf8');

test('the lists of flags and metrics match the program', () => {
  const { status, stderr } = spawnSync(process.execPath, ['hack/docs.mjs', '--check'], { cwd: ROOT, encoding: 'utf8' });
  expect([status, stderr]).toEqual([0, '']);
});

test('every flag is listed', () => {
  const text = read('docs/flags.md');
  const missing = Object.values(FLAGS)
    .map(({ name }) => name)
    .filter((name) => !new RegExp(`--${name}[\` ]`).test(text));
  expect(missing).toEqual([]);
});

test('flags mentioned in the documentation exist', () => {
  const known = new Set<string>(Object.values(FLAGS).map(({ name }) => name));
  for (const name of ['README.md', 'ARCHITECTURE.md']) {
    const spoken = [...read(name).matchAll(/`--([a-z][a-z0-9-]+)[=`]/g)].map(([, flag]) => flag ?? '');
    expect(spoken.filter((flag) => !known.has(flag))).toEqual([]);
  }
});

test('make targets mentioned in the documentation exist', () => {
  const makefile = read('Makefile');
  for (const name of ['README.md', 'CONTRIBUTING.md']) {
    const spoken = [...read(name).matchAll(/`?make ([a-z][a-z0-9-]*)/g)].map(([, target]) => target ?? '');
    expect(spoken.length).toBeGreaterThan(0);
    expect(spoken.filter((target) => !new RegExp(`^${target}:`, 'm').test(makefile))).toEqual([]);
  }
});

test('links in the documentation resolve', () => {
  const texts = [
    'README.md',
    'ARCHITECTURE.md',
    'CONTRIBUTING.md',
    'CHANGELOG.md',
    'test/README.md',
    ...readdirSync(join(ROOT, 'docs'), { recursive: true, encoding: 'utf8' })
      .filter((name) => name.endsWith('.md'))
      .map((name) => `docs/${name}`),
  ];
  for (const name of texts) {
    const links = [...read(name).matchAll(/\]\(([^)#:]+)(?:#[^)]*)?\)/g)].map(([, link]) =>
      join(ROOT, dirname(name), link ?? ''),
    );
    expect(links.filter((link) => !existsSync(link))).toEqual([]);
  }
});

test('the tests that docs/security.md names exist', () => {
  const named = [...read('docs/security.md').matchAll(/`((?:test|src|hack)\/[^`]+)`/g)].map(([, path]) => path ?? '');
  expect(named.length).toBeGreaterThan(20);
  expect(named.filter((path) => !existsSync(join(ROOT, path)))).toEqual([]);
});
