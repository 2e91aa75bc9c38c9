import { execFileSync, spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const hasGo = spawnSync('go', ['version']).status === 0;

/** Without Go there is nothing to compare with. */
(hasGo ? test : test.skip)(
  `what is committed in data/ is what make data makes${hasGo ? '' : ' (Go is not installed)'}`,
  () => {
    const folder = mkdtempSync(join(tmpdir(), 'annex-data-test-'));
    try {
      const names = execFileSync(process.execPath, ['hack/data.mjs', folder], { encoding: 'utf8' }).trim().split('\n');
      expect(names).toContain('rbac-defaults.json');
      for (const name of names) {
        expect([name, readFileSync(join(folder, name), 'utf8')]).toEqual([
          name,
          readFileSync(join('data', name), 'utf8'),
        ]);
      }
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  },
  900_000,
);
