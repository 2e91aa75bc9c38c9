import { spawnSync } from 'node:child_process';
import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

interface GlobalConfig {
  readonly rootDir: string;
  readonly testPathPatterns?: { readonly patterns: readonly string[] };
}

/** Tests beside the sources need no build. */
const UNIT = /^(\.\/)?(src|packages)(\/|$)/;

/**
 * Runs before all tests: creates a folder for the logs of their servers, and builds the current sources, so that no stale build is tested.
 * Jest resolves no imports of other sources here.
 */
export default function setup({ rootDir, testPathPatterns }: GlobalConfig): void {
  process.env['ANNEX_TEST_LOGS'] = mkdtempSync(join(tmpdir(), 'annex-test-logs-'));
  const patterns = testPathPatterns?.patterns ?? [];
  if (patterns.length > 0 && patterns.every((pattern) => UNIT.test(pattern))) return;
  if (process.env['ANNEX_MAIN'] !== undefined) return;
  const { status, stderr } = spawnSync(process.execPath, ['hack/build.mjs', '--if-stale'], {
    cwd: rootDir,
    encoding: 'utf8',
  });
  if (status !== 0) throw new Error(`the program cannot be built:\n${stderr}`);
}
