import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseJson } from '../../../apimachinery/json/decode.js';
import { isObject } from '../../../apimachinery/json/json.js';
import { RECORD_FORMAT } from '../../record.js';

const MARKER = 'cold.json';
/** The format of the file and of the objects' texts and flags in it, which is that of the store's records. */
const FORMAT = `1.${RECORD_FORMAT}`;
const BOOT_ID = '/proc/sys/kernel/random/boot_id';

/** Returns the id of the machine's current boot, or '' if unknown. */
export function bootOfMachine(): string {
  try {
    return readFileSync(BOOT_ID, 'utf8').trim();
  } catch {
    return '';
  }
}

/** Reports whether the file was written since the machine booted. Nothing in it was synced, so older data may be incomplete. */
export function isFromThisBoot(directory: string, boot: string): boolean {
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

/** Writes the marker. A partial marker is invalid, and one of another boot is worthless, so it is neither renamed into place nor synced. */
export function writeMarker(directory: string, boot: string): void {
  writeFileSync(join(directory, MARKER), JSON.stringify({ format: FORMAT, boot }), { mode: 0o600 });
}
