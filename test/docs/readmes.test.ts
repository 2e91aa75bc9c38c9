import { readFileSync } from 'node:fs';
import * as net from 'node:net';
import * as http2Client from 'node:http2';
import { join } from 'node:path';
import { compileFunction } from 'node:vm';
import * as cel from '@annex/cel';
import * as http2 from '@annex/http2';
import { ROOT } from '../integration/server.js';

const MODULES: Readonly<Record<string, object>> = {
  '@annex/cel': cel,
  '@annex/http2': http2,
  'node:net': net,
  'node:http2': http2Client,
};

/** Runs the example of a README. Resolves with the lines that it prints, and those that its comments promise. */
async function example(readme: string): Promise<{ readonly printed: string[]; readonly promised: string[] }> {
  const code = /```js\n([^]*?)```/.exec(readFileSync(join(ROOT, readme), 'utf8'))?.[1] ?? '';
  const promised = [...code.matchAll(/\/\/ prints: (.*)/g)].map(([, line]) => line ?? '');
  const body = code.replace(/^import (.*) from '(.*)';$/gm, "const $1 = modules['$2'];");
  const printed: string[] = [];
  const log = (...values: unknown[]): void => {
    printed.push(values.map(String).join(' '));
  };
  const run = compileFunction(`return (async () => {${body}})();`, ['modules', 'console']) as (
    modules: typeof MODULES,
    console: { log: typeof log },
  ) => Promise<void>;
  await run(MODULES, { log });
  return { printed, promised };
}

test.each(['packages/cel/README.md', 'packages/http2/README.md'])(
  'the example of %s prints what it says',
  async (readme) => {
    const { printed, promised } = await example(readme);
    expect(promised.length).toBeGreaterThan(0);
    expect(printed).toEqual(promised);
  },
);
