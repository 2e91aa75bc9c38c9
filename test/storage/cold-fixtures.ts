import type { Health } from '../../src/storage/interfaces.js';
import { ColdFile } from '../../src/storage/mongodb/cold/file.js';

/** A file that can be made full, or placed on a disk that fails every write. */
export class LimitedFile extends ColdFile {
  isFull = false;
  isBroken = false;

  override write(change: Parameters<ColdFile['write']>[0]): boolean {
    return !this.isBroken && super.write(change);
  }

  override state(): Health {
    return this.isFull ? { ok: false, reason: 'full' } : super.state();
  }
}
