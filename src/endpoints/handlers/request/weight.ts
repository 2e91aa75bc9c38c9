import { MAIN_THREAD_BODY_BYTES } from '../../../scheduling/thresholds.js';
import type { RequestScope } from '../scope.js';

/** The cost of a field or an item, in bytes of text. */
const PART = 24;
type Format = 'json' | 'yaml' | 'binary';
/** The cost of reading YAML relative to JSON, and the length of an object in JSON relative to the binary formats. */
const FACTORS: Readonly<Record<Format, number>> = { json: 1, yaml: 4, binary: 3 };
const LINE_END = 0x0a;
const COMMA = 0x2c;
const OPENING_BRACE = 0x7b;
const COPY = Buffer.from('"copy"');

/**
 * Returns the limit, in bytes, for the body of a request that is always handled on the main thread, such as a review. Elsewhere, larger
 * bodies go to a worker. Binary formats and YAML cost more per byte.
 */
export function mainThreadLimit(contentType: string | undefined, maxRequestBodyBytes: number): number {
  const type = contentType ?? '';
  const format = type.includes('yaml') ? 'yaml' : formatOf(type, Buffer.alloc(0));
  return Math.min(maxRequestBodyBytes, Math.floor(MAIN_THREAD_BODY_BYTES / FACTORS[format]));
}

/** The content of a text, counted without parsing it: characters in strings count too, so it is slightly overestimated. */
interface Content {
  bytes: number;
  parts: number;
  objects: number;
}

/**
 * Returns the amount of work of a write, in bytes of long text: its body, the existing object, and what defaults may add. Only
 * amounts up to `enough` are exact.
 */
export function weightOf(scope: RequestScope, body: Buffer, enough: number): number {
  const { request, context, storage, served } = scope;
  const type = request.headers['content-type'] ?? '';
  // Copies of copies: a short patch can create an object as large as the limit allows.
  if (type.includes('json-patch') && body.includes(COPY)) return Infinity;
  const format = formatOf(type, body);
  const bytes = body.length * FACTORS[format];
  if (bytes >= enough) return bytes;
  const content = { bytes, parts: 0, objects: 0 };
  add(content, body, format);
  const { info } = context;
  if (info.name !== '') {
    const stored = storage.peek(info.namespace, info.name)?.bytes;
    if (stored !== undefined) {
      content.bytes += stored.length;
      if (content.bytes < enough) add(content, stored, 'json');
    }
  }
  const parts = content.parts + served.maxDefaultedValues(content.objects);
  return Math.max(content.bytes, parts * PART);
}

function formatOf(type: string, body: Buffer): Format {
  if (type.includes('yaml') && body[0] !== OPENING_BRACE) return 'yaml';
  return type.includes('protobuf') || type.includes('cbor') ? 'binary' : 'json';
}

function add(content: Content, text: Uint8Array, format: Format): void {
  if (format === 'binary') {
    content.objects += text.length;
    return;
  }
  const byLines = format === 'yaml';
  for (let i = 0; i < text.length; i++) {
    const byte = text[i];
    if (byte === COMMA) content.parts++;
    else if (byte === OPENING_BRACE) content.objects++;
    else if (byLines && byte === LINE_END) {
      content.parts++;
      content.objects++;
    }
  }
}
