import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type ConvertOptions, runConvert } from './run.js';

const OBJECT = 'apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n';
const OLD = 'apiVersion: policy/v1beta1\nkind: PodDisruptionBudget\nmetadata: {name: a}\n';

/** Files that stand beside manifests and are not Kubernetes objects. */
const FOREIGN: Readonly<Record<string, string>> = {
  'docker-compose.yml': 'services:\n  web: {image: nginx}\n',
  'values.yaml': 'replicas: 1\nreplicas: 2\n',
  'Chart.yaml': 'apiVersion: v2\nname: web\nversion: 1.0.0\n',
  'kustomization.yaml': 'resources: [a.yaml]\n',
  'list.yaml': '- one\n- two\n',
  'package.json': '{"name": "web"}\n',
};

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'convert-'));
});
afterEach(() => {
  rmSync(folder, { recursive: true });
});

const path = (name: string): string => join(folder, name);
const read = (name: string): string => readFileSync(path(name), 'utf8');

function write(files: Readonly<Record<string, string>>): void {
  for (const [name, text] of Object.entries(files)) writeFileSync(path(name), text);
}

function run(options: Partial<ConvertOptions>): { readonly code: number; readonly out: string; readonly err: string } {
  let out = '';
  let err = '';
  const io = {
    progress: { step: () => undefined },
    readStandardInput: () => Buffer.alloc(0),
    out: (text: string) => (out += text),
    err: (line: string) => (err += `${line}\n`),
  };
  return { code: runConvert({ paths: [folder], ...options }, io), out, err };
}

describe('a folder with other YAML', () => {
  test('--check finds nothing wrong with it', () => {
    write({ ...FOREIGN, 'a.yaml': OBJECT });
    expect(run({ check: true })).toMatchObject({ code: 0, err: '' });
  });

  test('only objects are printed', () => {
    write({ ...FOREIGN, 'a.yaml': OBJECT });
    expect(run({})).toEqual({ code: 0, out: OBJECT, err: '' });
  });

  test('--write leaves it alone, also beside documents that are converted', () => {
    write({ ...FOREIGN, 'mixed.yaml': `${OLD}---\nreplicas: 1\n` });
    expect(run({ write: true })).toMatchObject({ code: 0, err: '' });
    for (const [name, text] of Object.entries(FOREIGN)) expect(read(name)).toBe(text);
    expect(read('mixed.yaml')).toMatch(/^apiVersion: policy\/v1\n[^]*---\nreplicas: 1\n$/);
  });

  test('-v names it', () => {
    write({ ...FOREIGN, 'a.yaml': OBJECT });
    const { code, err } = run({ check: true, verbose: true });
    expect(code).toBe(0);
    expect(err.split('\n').filter((line) => line !== '')).toEqual(
      Object.keys(FOREIGN)
        .sort()
        .map((name) => expect.stringContaining(`left alone: ${path(name)}:1: `) as string),
    );
  });

  test.each(Object.keys(FOREIGN))('%s is an error if the command names it', (name) => {
    write(FOREIGN);
    const { code, err } = run({ paths: [folder, path(name)] });
    expect(code).toBe(1);
    expect(err).toMatch(/^error: .*:1: (kind is missing|it is not an object)\n$/);
    expect(err).toContain(path(name));
  });

  test('what cannot be read may be a manifest, and stays an error', () => {
    write({ 'a.yaml': OBJECT, 'broken.yaml': 'a: [\n' });
    expect(run({ check: true }).code).toBe(1);
  });
});

describe('merge keys', () => {
  const merged = (own: string): string =>
    `apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\nbase: &base {name: x, b: 1}\ndata:\n${own}`;

  test.each([
    ['before an explicit key', '  <<: *base\n  name: own\n'],
    ['after an explicit key', '  name: own\n  <<: *base\n'],
  ])('%s they are no duplicates', (_, own) => {
    write({ 'a.yaml': merged(own) });
    expect(run({})).toEqual({ code: 0, out: merged(own), err: '' });
  });

  test('a key that stands twice is one', () => {
    write({ 'a.yaml': merged('  <<: *base\n  c: 1\n  c: 2\n') });
    expect(run({}).err).toMatch(/key "c" already set in map\n$/);
  });
});

describe.each([
  ['YAML', (depth: number) => `apiVersion: v1\nkind: ConfigMap\ndata: ${'['.repeat(depth)}${']'.repeat(depth)}\n`],
  [
    'JSON',
    (depth: number) => `{"apiVersion":"v1","kind":"ConfigMap","data":${'['.repeat(depth)}${']'.repeat(depth)}}\n`,
  ],
])('a deep document in %s', (format, text) => {
  const name = `a.${format.toLowerCase()}`;

  test.each([600, 5_000, 9_000, 100_000])('of %d levels is refused with a message', (depth) => {
    write({ [name]: text(depth) });
    const { code, err } = run({});
    expect(code).toBe(1);
    expect(err).toMatch(/:1: (it has more than 500 levels|.*exceeded max depth of \d+)\n$/);
  });

  test('of 400 levels is read', () => {
    write({ [name]: text(400) });
    expect(run({ check: true }).code).toBe(0);
  });
});
