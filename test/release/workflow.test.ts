import { spawnSync } from 'node:child_process';
import { chmodSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { parse } from 'yaml';
import { ROOT, scratchFolder } from '../integration/server.js';

interface Step {
  readonly id?: string;
  readonly name?: string;
  readonly run?: string;
  readonly uses?: string;
  readonly with?: Readonly<Record<string, string | number | boolean>>;
  readonly env?: Readonly<Record<string, string>>;
}

const workflow = parse(readFileSync(join(ROOT, '.github/workflows/release.yaml'), 'utf8')) as {
  readonly jobs: { readonly release: { readonly steps: readonly Step[] } };
};
const { steps } = workflow.jobs.release;
const DIGEST = 'sha256:0123';
const FILES = [
  'NOTES.md',
  'SHA256SUMS',
  'annex-9.8.7.tgz',
  ...['amd64', 'arm64'].map((one) => `annex-9.8.7-image-linux-${one}.tar`),
];

/** Fakes of publishing programs: each call is recorded, and fails if a file that it names is missing. */
const FAKE = `#!/bin/bash
printf '%s %s\\n' "\${0##*/}" "$*" >> "$CALLS"
for word; do
  case $word in
    --digestfile) digest=yes ;;
    --bundle) bundle=yes ;;
    oci-archive:release/*) [ -e "\${word#oci-archive:}" ] || exit 9 ;;
    release/*) if [ "\${bundle:-}" = yes ]; then touch "$word"; bundle=no; else [ -e "$word" ] || exit 9; fi ;;
    digest) [ "\${digest:-}" != yes ] || printf ${DIGEST} > digest ;;
  esac
done
case "$*" in *login*) cat > /dev/null ;; esac
`;

const folder = scratchFolder();

test('the steps of the release workflow run with fake publishing programs, and name what they publish', () => {
  const bin = join(folder, 'bin');
  const file = (name: string): string => join(folder, name);
  const program = (path: string, text: string): void => {
    writeFileSync(path, text);
    chmodSync(path, 0o755);
  };
  mkdirSync(bin);
  mkdirSync(file('hack'));
  for (const name of ['buildah', 'helm', 'cosign', 'gh', 'npm', 'sudo']) program(join(bin, name), FAKE);
  program(
    file('hack/release.sh'),
    `#!/bin/bash\necho "release of $HOME_URL" >> "$CALLS"\nmkdir -p release/$1 && cd release/$1 && touch ${FILES.join(' ')}\n`,
  );
  const env: Record<string, string> = {
    ...{
      PATH: `${bin}:${process.env['PATH'] ?? ''}`,
      CALLS: file('calls'),
      GITHUB_ENV: file('env'),
      GITHUB_OUTPUT: file('output'),
    },
    ...{
      GITHUB_REF_NAME: 'v9.8.7',
      GITHUB_REPOSITORY: 'Acme/Annex',
      GITHUB_SERVER_URL: 'https://git.example.com',
      GITHUB_REPOSITORY_OWNER: 'Acme',
      GITHUB_ACTOR: 'somebody',
      LC_ALL: 'C',
    },
  };
  const settings = (name: string): Record<string, string> =>
    existsSync(file(name))
      ? Object.fromEntries(
          readFileSync(file(name), 'utf8')
            .trim()
            .split('\n')
            .map((line) => line.split(/=(.*)/s).slice(0, 2) as [string, string]),
        )
      : {};
  const filled = (text: string): string =>
    text.replace(/\$\{\{ *([\w.]+) *\}\}/g, (_, name: string) => {
      const [kind = '', ...path] = name.split('.');
      if (kind === 'secrets') return 'secret';
      const value = kind === 'env' ? settings('env')[path.join('.')] : settings('output')[path.at(-1) ?? ''];
      if (value === undefined) throw new Error(`${name} is not set`);
      return value;
    });
  const given: string[] = [];
  for (const step of steps) {
    for (const value of Object.values(step.with ?? {})) given.push(filled(String(value)));
    if (step.run === undefined) continue;
    const own = Object.fromEntries(Object.entries(step.env ?? {}).map(([name, value]) => [name, filled(value)]));
    const { status, stderr } = spawnSync('bash', ['--norc', '-euo', 'pipefail', '-c', filled(step.run)], {
      cwd: folder,
      env: { ...env, ...settings('env'), ...own },
      encoding: 'utf8',
    });
    expect([step.name ?? step.run, status, stderr]).toEqual([step.name ?? step.run, 0, '']);
  }
  const calls = readFileSync(file('calls'), 'utf8').trim().split('\n');
  expect(calls).toEqual(
    expect.arrayContaining([
      'release of https://git.example.com/Acme/Annex',
      'buildah manifest push --all --digestfile digest annex docker://ghcr.io/acme/annex:9.8.7',
      'helm push release/9.8.7/annex-9.8.7.tgz oci://ghcr.io/acme/charts',
      `cosign sign --yes ghcr.io/acme/annex@${DIGEST}`,
      'cosign sign-blob --yes --bundle release/9.8.7/SHA256SUMS.sigstore.json release/9.8.7/SHA256SUMS',
      `gh release create v9.8.7 --notes-file release/9.8.7/NOTES.md ${[...FILES.map((name) => `release/9.8.7/${name}`), 'release/9.8.7/SHA256SUMS.sigstore.json'].sort().join(' ')}`,
    ]),
  );
  expect(calls.filter((call) => call.startsWith('buildah manifest add'))).toHaveLength(2);
  expect(given).toEqual(expect.arrayContaining(['release/9.8.7/SHA256SUMS', 'ghcr.io/acme/annex', DIGEST]));
});

test.each([
  ['gomod', 'go.mod'],
  ['pip', 'requirements.txt'],
])('Dependabot covers every folder with a %s file', (ecosystem, name) => {
  interface Updates {
    readonly updates: readonly { readonly 'package-ecosystem': string; readonly directories?: readonly string[] }[];
  }
  const { updates } = parse(readFileSync(join(ROOT, '.github/dependabot.yml'), 'utf8')) as Updates;
  const watched = updates.find((one) => one['package-ecosystem'] === ecosystem)?.directories ?? [];
  const listed = spawnSync('git', ['ls-files', `*/${name}`], { cwd: ROOT, encoding: 'utf8' })
    .stdout.trim()
    .split('\n');
  expect(listed.map((path) => `/${dirname(path)}`)).toEqual([...watched].sort());
});
