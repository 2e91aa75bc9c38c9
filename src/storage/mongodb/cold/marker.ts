import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseJson } from '../../../apimachinery/json/decode.js';
import { isObject } from '../../../apimachinery/json/json.js';
import { RECORD_FORMAT } from '../../record.js';

const MARKER = 'cold.json';
/** Of the file, and of the objects' texts and flags in it, which are those of the store's records. */
const FORMAT = `1.${RECORD_FORMAT}`;
const BOOT_ID = '/proc/sys/kernel/random/boot_id';

/** Which start of the machine this is; '' where that is not to be known. */
export function bootOfMachine(): string {
  try {
    return readFileSync(BOOT_ID, 'utf8').trim();
  } catch {
    return '';
  }
}

/** Whether a file was written since the machine was started: nothing in it was synced, so what was written before may be there in part. */
export function isOfThisBoot(directory: string, boot: string): boolean {
  try {
    const marker = parseJson(readFileSync(join(directory, MARKER)));
    return boot !== '' && isObject(marker) && marker['format'] === FORMAT && marker['boot'] === boot;
  } catch {
    return false;
  }
}

export function removeMarker(directory: string): void {
  rmSync(join(directory, MARKER), { force: true });
}

/** Half of it is no marker, and one of another start of the machine is worth nothing: so it is neither renamed into place nor synced. */
export function writeMarker(directory: string, boot: string): void {
  writeFileSync(join(directory, MARKER), JSON.stringify({ format: FORMAT, boot }), { mode: 0o600 });
}
