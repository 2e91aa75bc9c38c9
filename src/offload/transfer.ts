import type { answerCall } from './task-host.js';

/** Memory that can be given away with its bytes. */
export const buffersOf = (bytes: Uint8Array): ArrayBuffer[] =>
  bytes.buffer instanceof ArrayBuffer && bytes.byteLength === bytes.buffer.byteLength ? [bytes.buffer] : [];

/** Bytes in an answer are copies already, made to be given away. */
export function transferable(value: Awaited<ReturnType<typeof answerCall>>): ArrayBuffer[] {
  if (typeof value !== 'object') return [];
  if (Array.isArray(value)) return [];
  const object = 'bytes' in value ? value : 'object' in value ? value.object : undefined;
  return object?.bytes.buffer instanceof ArrayBuffer ? [object.bytes.buffer] : [];
}
