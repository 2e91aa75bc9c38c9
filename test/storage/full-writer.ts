import { writeSync } from 'node:fs';
import { EmbeddedBackend } from '../../src/storage/embedded/backend.js';
import { StorageError } from '../../src/storage/errors.js';
import { everything, put, RESOURCE } from './fixtures.js';

/**
 * A process whose files may not grow beyond a limit, as on a full disk: `full-writer <directory>`. It writes until a write fails, checks
 * that reads still work, and prints each acknowledged write: key and revision.
 */
async function main(directory: string): Promise<void> {
  const backend = new EmbeddedBackend({ directory });
  await backend.open();
  let refused = 0;
  for (let i = 0; refused < 3; i += 4) {
    const writes = [0, 1, 2, 3].map((n) => backend.write(put(`a/k${i + n}`, 0, { filler: 'x'.repeat(8000) })));
    for (const result of await Promise.allSettled(writes)) {
      if (result.status === 'fulfilled' && result.value.outcome === 'committed') {
        writeSync(1, `${result.value.object.key} ${result.value.object.revision}\n`);
      } else if (result.status === 'rejected') {
        refused++;
        const code = result.reason instanceof StorageError ? result.reason.code : String(result.reason);
        writeSync(1, `refused ${code}\n`);
      }
    }
  }
  const list = await backend.list(RESOURCE, everything);
  writeSync(1, `listed ${list.items.length}\n`);
  await backend.close();
}

main(process.argv[2] ?? '').catch((error: unknown) => {
  writeSync(2, `${String(error)}\n`);
  process.exitCode = 1;
});
