import { spawnSync } from 'node:child_process';
import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';

const ROOT = join(__dirname, '../..');
const GUIDE = join(ROOT, 'docs/convert.md');
const INGRESS = `apiVersion: networking.k8s.io/v1beta1
kind: Ingress
metadata: {name: web} # the shop
spec:
  backend: {serviceName: shop, servicePort: 80}
`;
const DEFINITION = `apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: widgets.example.com}
spec:
  group: example.com
  scope: Namespaced
  names: {plural: widgets, kind: Widget}
  versions:
    - {name: v1beta1, served: true, storage: false, deprecated: true, schema: {openAPIV3Schema: {type: object}}}
    - {name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object}}}
`;
const WIDGET = 'apiVersion: example.com/v1beta1\nkind: Widget\nmetadata: {name: w}\n';

/** Returns the commands of the guide's shell blocks. */
function commands(): string[] {
  const blocks = [...readFileSync(GUIDE, 'utf8').matchAll(/```sh\n([\s\S]*?)```/g)].map(([, block]) => block ?? '');
  return blocks.flatMap((block) => block.split('\n')).filter((line) => line !== '' && !line.startsWith('#'));
}

let scratch: string;
beforeEach(() => {
  scratch = mkdtempSync(join(tmpdir(), 'annex-guide-'));
  writeFileSync(join(scratch, 'ingress.yaml'), INGRESS);
  writeFileSync(join(scratch, 'definitions.yaml'), DEFINITION);
  writeFileSync(join(scratch, 'widget.yaml'), WIDGET);
  writeFileSync(join(scratch, 'annex'), `#!/bin/sh\nexec "${process.execPath}" "${join(ROOT, 'dist/main.js')}" "$@"\n`);
  chmodSync(join(scratch, 'annex'), 0o755);
});
afterEach(() => {
  rmSync(scratch, { recursive: true, force: true });
});

function run(command: string): { status: number | null; stdout: string; stderr: string } {
  const ofCustom = command.includes('--definitions');
  const env = {
    PATH: `${scratch}${delimiter}${process.env['PATH'] ?? ''}`,
    FOLDER: scratch,
    FILE: join(scratch, ofCustom ? 'widget.yaml' : 'ingress.yaml'),
    DEFINITIONS: join(scratch, 'definitions.yaml'),
    GROUP: 'example.com',
    VERSION: 'v1',
  };
  return spawnSync('sh', ['-euc', command], { env, encoding: 'utf8' });
}

test.each(commands())('%s', (command) => {
  const { status, stdout, stderr } = run(command);
  const file = readFileSync(join(scratch, 'ingress.yaml'), 'utf8');
  if (command.includes('--check')) {
    expect([status, file]).toEqual([1, INGRESS]);
    expect(stdout).toContain('networking.k8s.io/v1beta1');
  } else if (command.includes('--write')) {
    expect([status, file]).toEqual([0, expect.stringContaining('apiVersion: networking.k8s.io/v1\n')]);
    expect(file).toContain('# the shop');
  } else {
    const wanted = command.includes('--definitions') ? /example\.com\/v1\b/ : /networking\.k8s\.io\/v1\b/;
    expect([status, stdout, stderr]).toEqual([0, expect.stringMatching(wanted), expect.not.stringContaining('error')]);
    expect(stdout).not.toContain('v1beta1');
  }
});

test('the guide has commands with every option', () => {
  const all = commands().join('\n');
  for (const option of ['--check', '--write', '-o json', '--definitions']) expect(all).toContain(option);
});
