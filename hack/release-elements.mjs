// Lists what users of a release may depend on: flags, options of commands, feature gates, and metrics, each with what the rules of
// deprecation need, and the fields of each type of the API. node hack/release-elements.mjs > test/releases/<major.minor>.json records a release; a test compares every record
// with the current tree. It reads docs/flags.md and docs/metrics.md, which another test keeps up to date, data/openapi, and dist/.
import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
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

const help = (...command) =>
  execFileSync(process.execPath, [join(root, 'dist/main.js'), ...command, '--help'], { encoding: 'utf8' });

/** The options of serve and doctor are the flags. */
function* options() {
  const [, commands = ''] = help().split('Commands:');
  for (const [, command] of commands.matchAll(/^ {2}([a-z-]+) /gm)) {
    yield [command, element('STABLE', false)];
    if (command === 'serve' || command === 'doctor') continue;
    for (const [, name, text] of help(command).matchAll(/^ {2}(?:-\w, )?--([a-z-]+).*? {2,}(.*)$/gm)) {
      if (name !== 'help') yield [`${command} --${name}`, element('STABLE', text.includes('(DEPRECATED: '))];
    }
  }
}

/** The names of the fields of each type of the API, separated by spaces. */
function* types() {
  const folder = join(root, 'data/openapi');
  for (const name of readdirSync(folder)) {
    for (const [type, { properties = {} }] of Object.entries(JSON.parse(readFileSync(join(folder, name), 'utf8')))) {
      yield [type, Object.keys(properties).sort().join(' ')];
    }
  }
}

const elements = {
  commands: sorted(options()),
  flags: sorted(flags()),
  gates: sorted(gates()),
  metrics: sorted(metrics()),
};
process.stdout.write(`${JSON.stringify({ ...elements, types: sorted(types()) }, undefined, 1)}\n`);
