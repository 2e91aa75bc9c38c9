import { closeSync, fsyncSync, openSync, readFileSync, renameSync, rmSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { parseJson } from '../../../apimachinery/json/decode.js';
import { isObject } from '../../../apimachinery/json/json.js';
import { RECORD_FORMAT } from '../../record.js';

const MARKER = 'cold.json';
/** Of the file, and of the objects' texts and flags in it, which are those of the store's records. */
const FORMAT = `1.${RECORD_FORMAT}`;
const BOOT_ID = '/proc/sys/kernel/random/boot_id';

/** Which start of the machine this is; undefined where that is not to be known. */
export function bootOfMachine(): string | undefined {
  try {
    return readFileSync(BOOT_ID, 'utf8').trim();
  } catch {
    return undefined;
  }
}

/** Whether a file was written since the machine was started: nothing in it was synced, so what was written before may be there in part. */
export function isOfThisBoot(directory: string, boot: string | undefined): boolean {
  try {
    const marker = parseJson(readFileSync(join(directory, MARKER)));
    return boot !== undefined && isObject(marker) && marker['format'] === FORMAT && marker['boot'] === boot;
  } catch {
    return false;
  }
}

export function removeMarker(directory: string): void {
  rmSync(join(directory, MARKER), { force: true });
}

export function writeMarker(directory: string, boot: string): void {
  const path = join(directory, MARKER);
  const fresh = `${path}.new`;
  const handle = openSync(fresh, 'w', 0o600);
  writeSync(handle, JSON.stringify({ format: FORMAT, boot }));
  fsyncSync(handle);
  closeSync(handle);
  renameSync(fresh, path);
}
