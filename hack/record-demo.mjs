// Records the output of `make demo` as docs/pictures/demo.svg: node hack/record-demo.mjs
// Lines appear at a fixed pace, independent of the speed of the machine, and ages are normalized, so that a new recording differs only
// where the output differs.
import { spawnSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = join(dirname(fileURLToPath(import.meta.url)), '..');
const COUNT = process.argv[2] ?? '5000';
const COLUMNS = 110;
const LINE = 18;
const CHARACTER = 7.9;
const kubectl = spawnSync(join(root, 'hack/tools/kubectl.sh'), { encoding: 'utf8' }).stdout.trim();
const { status, stdout, stderr } = spawnSync('bash', ['-c', `examples/demo.sh /nowhere ${COUNT} 2>&1`], {
  cwd: root,
  encoding: 'utf8',
  env: { ...process.env, KUBECTL: kubectl },
});
if (status !== 0) {
  console.error(stdout, stderr);
  process.exit(1);
}

const escape = (text) => text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
/** Returns what a terminal shows at the end: a carriage return restarts the line. */
const shown = (line) => line.split('\r').at(-1);
const KINDS = { '\u001b[1m=': 't', '\u001b[1m$': 'c' };
/** Wraps a text at the width of the picture. */
const wrapped = (text) => text.match(new RegExp(`.{1,${COLUMNS}}`, 'g')) ?? [''];
const lines = stdout
  .trimEnd()
  .split('\n')
  .map(shown)
  // The speed of this machine is irrelevant.
  .filter((line) => !/ per second$/.test(line))
  .flatMap((line) => {
    const kind = KINDS[line.slice(0, 5)] ?? 'o';
    // eslint-disable-next-line no-control-regex
    const plain = line.replace(/\u001b\[\d*m/g, '');
    const settled = plain.replace(/(?<= )\d+(s|m)$/, '5s').replace(/(?<=https:\/\/127\.0\.0\.1:)\d+/, '6443');
    return wrapped(settled.trimEnd()).map((text) => ({ kind, text }));
  })
  .filter(({ text }, i, all) => text !== '' || all[i - 1]?.text !== '');

const textOf = ({ kind, text }, i, at) =>
  `<text class="${kind}" x="16" y="${52 + i * LINE}" style="animation-delay:${at.toFixed(2)}s">${escape(text)}</text>`;

let at = 0.2;
const body = lines.map((line, i) => {
  at += line.kind === 'o' ? 0.06 : 0.7;
  return textOf(line, i, at);
});
const width = Math.round(32 + COLUMNS * CHARACTER);
const height = 60 + lines.length * LINE;
const svg = `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}" xml:space="preserve" role="img" aria-label="make demo in a terminal">
<style>
text{font:13px ui-monospace,SFMono-Regular,Menlo,Consolas,monospace;fill:#c9d1d9;white-space:pre;animation:show .01s both}
.t{fill:#79c0ff;font-weight:bold}.c{fill:#7ee787;font-weight:bold}
@keyframes show{from{opacity:0}to{opacity:1}}
@media (prefers-reduced-motion:reduce){text{animation:none}}
</style>
<rect width="100%" height="100%" rx="8" fill="#0d1117"/>
<circle cx="20" cy="18" r="6" fill="#ff5f56"/><circle cx="40" cy="18" r="6" fill="#ffbd2e"/><circle cx="60" cy="18" r="6" fill="#27c93f"/>
${body.join('\n')}
</svg>
`;
mkdirSync(join(root, 'docs/pictures'), { recursive: true });
writeFileSync(join(root, 'docs/pictures/demo.svg'), svg);
console.log(`docs/pictures/demo.svg: ${lines.length} lines, ${Math.round(svg.length / 1024)} KiB`);
