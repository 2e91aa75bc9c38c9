import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT, serverForFile } from '../integration/server.js';

const H2SPEC = join(process.env['ANNEX_TOOLS_DIR'] ?? join(ROOT, '.cache/tools'), 'h2spec');
/** The timeout in seconds of each case that waits for a response. */
const PATIENCE = 20;
const LIMIT_MILLIS = 300_000;

const h2spec = (port: number): Promise<string> =>
  new Promise((resolve) => {
    // A response of at least a few bytes, without which some cases have nothing to check.
    const args = ['-h', '127.0.0.1', '-p', String(port), '-t', '-k', '-P', '/version', '-o', String(PATIENCE)];
    execFile(H2SPEC, args, { timeout: LIMIT_MILLIS }, (_error, stdout) => {
      resolve(stdout);
    });
  });

const describeIfBuilt = existsSync(H2SPEC) ? describe : describe.skip;

describeIfBuilt('h2spec (skipped: without hack/tools/build.sh h2spec)', () => {
  // Without the feature gate, connections of anonymous users stay open after a response, as the cases expect.
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
