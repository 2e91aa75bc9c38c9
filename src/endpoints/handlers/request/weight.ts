import { MAIN_THREAD_BODY_BYTES, OFFLOAD_LEVELS } from '../../../scheduling/thresholds.js';
import type { RequestScope } from '../scope.js';

/** The cost of a field or an item, in bytes of text. */
const PART = 24;
type Format = 'json' | 'yaml' | 'binary';
/** The cost of reading YAML relative to JSON, and the length of an object in JSON relative to the binary formats. */
const FACTORS: Readonly<Record<Format, number>> = { json: 1, yaml: 4, binary: 3 };
const LINE_END = 0x0a;
const COMMA = 0x2c;
const SPACE = 0x20;
const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const OPENING_BRACE = 0x7b;
const CLOSING_BRACE = 0x7d;
const OPENING_BRACKET = 0x5b;
const CLOSING_BRACKET = 0x5d;
const ITEM = 0x2d;
const ALIAS = 0x2a;
const EXPLICIT_KEY = 0x3f;
const CBOR_ARRAY = 0x80;
const CBOR_SIMPLE = 0xe0;
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

/** The content of a text, counted without parsing it: commas and braces in strings count too, so it is slightly overestimated. */
interface Content {
  bytes: number;
  parts: number;
  objects: number;
  /** The most levels that one text may have. In formats other than JSON, a bound: everything that may begin a level counts. */
  levels: number;
}

/**
 * Returns the amount of work of a write, in bytes of long text: its body, the existing object, and what defaults may add. Only
 * amounts up to `enough` are exact. Infinite if a text is nested too deeply for the stack of the main thread.
 */
export function weightOf(scope: RequestScope, body: Buffer, enough: number): number {
  const { request, context, storage, served } = scope;
  const type = request.headers['content-type'] ?? '';
  // Copies of copies: a short patch can create an object as large as the limit allows.
  if (type.includes('json-patch') && body.includes(COPY)) return Infinity;
  const format = formatOf(type, body);
  const bytes = body.length * FACTORS[format];
  if (bytes >= enough) return bytes;
  const content = { bytes, parts: 0, objects: 0, levels: 0 };
  add(content, body, format);
  const { info } = context;
  if (info.name !== '') {
    const stored = storage.peek(info.namespace, info.name)?.bytes;
    if (stored !== undefined) {
      content.bytes += stored.length;
      if (content.bytes < enough) add(content, stored, 'json');
    }
  }
  if (content.levels > OFFLOAD_LEVELS) return Infinity;
  const parts = content.parts + served.maxDefaultedValues(content.objects);
  return Math.max(content.bytes, parts * PART);
}

function formatOf(type: string, body: Buffer): Format {
  if (type.includes('yaml') && body[0] !== OPENING_BRACE) return 'yaml';
  return type.includes('protobuf') || type.includes('cbor') ? 'binary' : 'json';
}

function add(content: Content, text: Uint8Array, format: Format): void {
  const levels =
    format === 'json' ? addJson(content, text) : format === 'yaml' ? addYaml(content, text) : binaryLevels(text);
  if (format === 'binary') content.objects += text.length;
  if (levels > content.levels) content.levels = levels;
}

/** Returns the depth of a JSON text. In a text that is not JSON, quotes may hide levels. */
function addJson(content: Content, text: Uint8Array): number {
  let depth = 0;
  let deepest = 0;
  let quoted = false;
  for (let i = 0; i < text.length; i++) {
    const byte = text[i];
    if (byte === COMMA) content.parts++;
    else if (byte === OPENING_BRACE) {
      content.objects++;
      if (!quoted && ++depth > deepest) deepest = depth;
    } else if (byte === QUOTE) quoted = !quoted;
    else if (byte === BACKSLASH) i++;
    else if (quoted) continue;
    else if (byte === OPENING_BRACKET) {
      if (++depth > deepest) deepest = depth;
    } else if (byte === CLOSING_BRACE || byte === CLOSING_BRACKET) depth--;
  }
  return deepest;
}

/** Returns a bound of the depth of a YAML text: flow collections, `- - -`, `? ? ?`, aliases, and the deepest indentation. */
function addYaml(content: Content, text: Uint8Array): number {
  let openings = 0;
  let indent = 0;
  let deepest = 0;
  for (let i = 0; i < text.length; i++) {
    const byte = text[i] as number;
    if (byte === LINE_END) {
      content.parts++;
      content.objects++;
      indent = 0;
    } else if (byte === SPACE) {
      if (indent >= 0 && ++indent > deepest) deepest = indent;
    } else {
      if (byte === COMMA) content.parts++;
      else if (byte === OPENING_BRACE) content.objects++;
      if (byte === OPENING_BRACE || byte === OPENING_BRACKET || byte === ALIAS || byte === EXPLICIT_KEY) openings++;
      else if (byte === ITEM && (text[i + 1] as number) <= SPACE) openings++;
      indent = -1;
    }
  }
  return openings + deepest;
}

/** Returns a bound of the depth of a CBOR body: the bytes that may begin an array, a map or a tag. No type nests deeply in Protobuf. */
function binaryLevels(bytes: Uint8Array): number {
  let openings = 0;
  for (const byte of bytes) if (byte >= CBOR_ARRAY && byte < CBOR_SIMPLE) openings++;
  return openings;
}
