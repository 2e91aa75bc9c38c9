// Lists what users of a release may depend on: flags, options of commands, feature gates, and metrics, each with what the rules of
// deprecation need. node hack/release-elements.mjs > test/releases/<major.minor>.json records a release; a test compares every record
// with the current tree. It reads docs/flags.md and docs/metrics.md, which another test keeps up to date, and dist/.
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = join(dirname(fileURLToPath(import.meta.url)), '..');
const lines = (name) => readFileSync(join(root, 'docs', name), 'utf8').split('\n');
const sorted = (entries) => Object.fromEntries([...entries].sort(([a], [b]) => (a < b ? -1 : 1)));
const element = (stage, deprecated) => ({ stage, ...(deprecated ? { deprecated: true } : {}) });

function* flags() {
  for (const line of lines('flags.md')) {
    const match = /^\| `(?:-v, )?--([a-z0-9-]+)[^|]*\| [^|]*\| (.*) \|$/.exec(line.replaceAll('\\|', '/'));
    if (match !== null) yield [match[1], element('STABLE', match[2].includes('(DEPRECATED: '))];
  }
}

function* gates() {
  const line = lines('flags.md').find((text) => text.startsWith('| `--feature-gates'));
  for (const [, name, stage] of line.matchAll(
    /`(\w+)=true\\?\|false \((\w+) - default=\w+(?:, non-operational)?\)`/g,
  )) {
    yield [name, element(stage, stage === 'GA' || stage === 'DEPRECATED')];
  }
}

function* metrics() {
  for (const line of lines('metrics.md')) {
    const match = /^\| `(\w+)` \| \w+ \| \[([A-Z]+)\] ?(\(Deprecated)?/.exec(line);
    if (match !== null) yield [match[1], element(match[2], match[3] !== undefined)];
  }
}

function* options() {
  for (const command of ['convert', 'doctor', 'kubeconfig', 'serve', 'token']) {
    yield [command, element('STABLE', false)];
    if (command === 'serve' || command === 'doctor') continue;
    const help = execFileSync(process.execPath, [join(root, 'dist/main.js'), command, '--help'], { encoding: 'utf8' });
    for (const [, name, text] of help.matchAll(/^ {2}(?:-\w, )?--([a-z-]+).*? {2,}(.*)$/gm)) {
      if (name !== 'help') yield [`${command} --${name}`, element('STABLE', text.includes('(DEPRECATED: '))];
    }
  }
}

const elements = {
  commands: sorted(options()),
  flags: sorted(flags()),
  gates: sorted(gates()),
  metrics: sorted(metrics()),
};
process.stdout.write(`${JSON.stringify(elements, undefined, 1)}\n`);
