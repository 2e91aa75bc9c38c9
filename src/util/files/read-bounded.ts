import type { Readable } from 'node:stream';

/** Reads a stream to its end. If it is longer than `maxBytes`, the stream is destroyed, and the promise rejects with the error from `tooLong`. */
export async function readBounded(
  stream: Readable,
  maxBytes: number,
  tooLong = (): Error => new Error(`the response exceeds ${maxBytes} bytes`),
): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let length = 0;
  // Leaving the loop early destroys the stream.
  for await (const chunk of stream as AsyncIterable<Buffer>) {
    length += chunk.length;
    if (length > maxBytes) throw tooLong();
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}
