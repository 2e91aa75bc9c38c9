/** Frame types of RFC 9113, section 6. */
export const FrameType = {
  data: 0,
  headers: 1,
  priority: 2,
  rstStream: 3,
  settings: 4,
  pushPromise: 5,
  ping: 6,
  goaway: 7,
  windowUpdate: 8,
  continuation: 9,
} as const;

export const Flag = { ack: 0x1, endStream: 0x1, endHeaders: 0x4, padded: 0x8, priority: 0x20 } as const;

export const Setting = {
  headerTableSize: 1,
  enablePush: 2,
  maxConcurrentStreams: 3,
  initialWindowSize: 4,
  maxFrameSize: 5,
  maxHeaderListSize: 6,
} as const;

/** Error codes of RFC 9113, section 7. */
export const ErrorCode = {
  noError: 0,
  protocolError: 1,
  internalError: 2,
  flowControlError: 3,
  settingsTimeout: 4,
  streamClosed: 5,
  frameSizeError: 6,
  refusedStream: 7,
  cancel: 8,
  compressionError: 9,
  enhanceYourCalm: 11,
} as const;
export type ErrorCode = (typeof ErrorCode)[keyof typeof ErrorCode];

/** Returns the name of an error code as in RFC 9113. */
export function errorName(code: ErrorCode): string {
  const [key = 'unknown'] = Object.entries(ErrorCode).find(([, value]) => value === code) ?? [];
  return key.replace(/[A-Z]/g, '_$&').toUpperCase();
}

export const PREFACE = Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n', 'latin1');
export const FRAME_HEADER = 9;
/** The initial limits of every peer, until it changes them with SETTINGS. */
export const DEFAULT_FRAME_SIZE = 16_384;
export const DEFAULT_WINDOW = 65_535;
export const LARGEST_WINDOW = 2 ** 31 - 1;
export const LARGEST_STREAM = 2 ** 31 - 1;

/** A connection error. It ends the connection with a GOAWAY frame that has this code. */
export class ConnectionError extends Error {
  constructor(
    readonly code: ErrorCode,
    message: string,
  ) {
    super(message);
  }
}

/** Writes the nine-byte frame header. Returns where it ends. */
export function writeFrameHeader(
  out: Buffer,
  at: number,
  length: number,
  type: number,
  flags: number,
  stream: number,
): number {
  out[at] = length >>> 16;
  out[at + 1] = length >>> 8;
  out[at + 2] = length;
  out[at + 3] = type;
  out[at + 4] = flags;
  out[at + 5] = stream >>> 24;
  out[at + 6] = stream >>> 16;
  out[at + 7] = stream >>> 8;
  out[at + 8] = stream;
  return at + FRAME_HEADER;
}

export function writeUint32(out: Buffer, at: number, value: number): number {
  out[at] = value >>> 24;
  out[at + 1] = value >>> 16;
  out[at + 2] = value >>> 8;
  out[at + 3] = value;
  return at + 4;
}

export const protocolError = (message: string): ConnectionError =>
  new ConnectionError(ErrorCode.protocolError, message);
export const flowControlError = (message: string): ConnectionError =>
  new ConnectionError(ErrorCode.flowControlError, message);
export const frameSizeError = (frame: string): ConnectionError =>
  new ConnectionError(ErrorCode.frameSizeError, `a ${frame} frame has an invalid size`);

/** Returns the payload of a DATA or HEADERS frame without its padding. */
export function unpadded(flags: number, payload: Buffer): Buffer {
  if ((flags & Flag.padded) === 0) return payload;
  const padding = payload[0];
  if (padding === undefined) throw frameSizeError('padded');
  if (padding >= payload.length) throw protocolError('the padding exceeds the payload');
  return payload.subarray(1, payload.length - padding);
}
