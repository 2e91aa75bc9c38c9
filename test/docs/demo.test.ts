import { spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { findKubectl } from '../conformance/kubectl.js';
import { ROOT } from '../integration/server.js';

const kubectl = findKubectl();
const COUNT = 200;
/** Returns the kubectl commands of a text, without the titles and output around them. */
const commandsOf = (text: string): string[] =>
  [...text.matchAll(/^(?:\u001b\[1m)?\$ (kubectl .*?)(?:\u001b\[0m)?$/gm)].map(([, line]) => line ?? '');

('path' in kubectl ? test : test.skip)(
  `make demo shows what it promises, and its recording is of this script${'path' in kubectl ? '' : ` (skipped: ${kubectl.missing})`}`,
  async () => {
    const env = { ...process.env, KUBECTL: 'path' in kubectl ? kubectl.path : '' };
    const child = spawn('examples/demo.sh', ['/nowhere', String(COUNT)], { cwd: ROOT, env });
    let text = '';
    child.stdout.setEncoding('utf8').on('data', (chunk: string) => (text += chunk));
    child.stderr.setEncoding('utf8').on('data', (chunk: string) => (text += chunk));
    const status = await new Promise((resolve) => child.once('close', resolve));
    expect([status, text]).toEqual([0, expect.stringMatching(new RegExp(`^${COUNT}$`, 'm'))]);
    expect(text).toMatch(/the watch: .*report-00007 +9 +1 /);
    expect(text).toContain('denied request: 99 failures in 1 results');
    expect(text).toContain('conflict with "scanner": .summary.pass');
    expect(text).toMatch(/FIELD: summary <Object>/);
    const picture = readFileSync(join(ROOT, 'docs/pictures/demo.svg'), 'utf8').replace(/<[^>]*>/g, '');
    expect(commandsOf(picture.replaceAll('&gt;', '>').replaceAll('&lt;', '<'))).toEqual(commandsOf(text));
  },
  180_000,
);
