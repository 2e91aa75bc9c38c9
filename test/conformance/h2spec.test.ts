import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT, serverForFile } from '../integration/server.js';

const H2SPEC = join(process.env['ANNEX_TOOLS_DIR'] ?? join(ROOT, '.cache/tools'), 'h2spec');
/** In seconds, for each case that waits for an answer. */
const PATIENCE = 20;
const LIMIT_MILLIS = 300_000;

const h2spec = (port: number): Promise<string> =>
  new Promise((resolve) => {
    // An answer of a few bytes at least, without which some cases have nothing to look at.
    const args = ['-h', '127.0.0.1', '-p', String(port), '-t', '-k', '-P', '/version', '-o', String(PATIENCE)];
    execFile(H2SPEC, args, { timeout: LIMIT_MILLIS }, (_error, stdout) => {
      resolve(stdout);
    });
  });

const describeIfBuilt = existsSync(H2SPEC) ? describe : describe.skip;

describeIfBuilt('h2spec (skipped: without hack/tools/build.sh h2spec)', () => {
  // Without the gate connections of nobody in particular stay open after an answer, as the cases expect.
  const server = serverForFile(['--feature-gates=UnauthenticatedHTTP2DOSMitigation=false']);

  test(
    'all its cases pass',
    async () => {
      const printed = await h2spec(server.current.port);
      const failures = printed.slice(Math.max(0, printed.indexOf('Failures:')));
      expect(failures).toMatch(/145 tests, 145 passed, 0 skipped, 0 failed/);
    },
    LIMIT_MILLIS,
  );
});
