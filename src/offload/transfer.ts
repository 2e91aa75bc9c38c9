import type { CallResult } from './messages.js';

/** Returns the buffer of the bytes for a transfer, if it holds nothing else. */
export const ownedBuffers = (bytes: Uint8Array): ArrayBuffer[] =>
  bytes.buffer instanceof ArrayBuffer && bytes.byteLength === bytes.buffer.byteLength ? [bytes.buffer] : [];

/** Returns the buffers of an answer for a transfer. Bytes in an answer are always copies made for that purpose. */
export function transferList(value: CallResult): ArrayBuffer[] {
  if (typeof value !== 'object' || Array.isArray(value)) return [];
  const object = 'bytes' in value ? value : 'object' in value ? value.object : undefined;
  return object?.bytes.buffer instanceof ArrayBuffer ? [object.bytes.buffer] : [];
}
