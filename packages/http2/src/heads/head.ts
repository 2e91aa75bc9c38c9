import { maxFieldBytes, statusRoom, writeField, writeStatus } from '../hpack/encoder.js';

export type FieldValue = string | number | readonly string[];
export type FieldValues = ReadonlyMap<string, FieldValue>;

let scratch = Buffer.allocUnsafeSlow(8192);
let dateSecond = 0;
let dateText = '';

function dateAt(millis: number): string {
  const second = Math.floor(millis / 1000);
  if (second !== dateSecond) {
    dateSecond = second;
    dateText = new Date(second * 1000).toUTCString();
  }
  return dateText;
}

function maxBlockBytes(fields: FieldValues): number {
  let bytes = statusRoom + maxFieldBytes('date', dateText) + 32;
  for (const [name, value] of fields) {
    if (typeof value === 'object') for (const one of value) bytes += maxFieldBytes(name, one);
    else bytes += maxFieldBytes(name, String(value));
  }
  return bytes;
}

/** Encodes the header block of a response; valid until the next call. `now` is the time for the Date field; undefined omits the field. */
export function headBlock(status: number, fields: FieldValues, now: number | undefined): Buffer {
  const bytes = maxBlockBytes(fields);
  if (scratch.length < bytes) scratch = Buffer.allocUnsafeSlow(bytes * 2);
  let at = writeStatus(scratch, 0, status);
  for (const [name, value] of fields) {
    if (typeof value === 'object') for (const one of value) at = writeField(scratch, at, name, one);
    else at = writeField(scratch, at, name, typeof value === 'number' ? String(value) : value);
  }
  if (now !== undefined && !fields.has('date')) at = writeField(scratch, at, 'date', dateAt(now));
  return scratch.subarray(0, at);
}
