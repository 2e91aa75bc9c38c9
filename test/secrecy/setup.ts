import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** Before all tests: a folder for the logs of their servers. Jest resolves no imports of other sources here. */
export default function setup(): void {
  process.env['ANNEX_TEST_LOGS'] = mkdtempSync(join(tmpdir(), 'annex-test-logs-'));
}
