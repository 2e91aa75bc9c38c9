import { ConnectionError, ErrorCode } from '../frames/frame.js';

/** A header block that cannot be decoded. This ends the connection, because the dynamic tables of both sides may differ now. */
export class HpackError extends ConnectionError {
  constructor(message: string) {
    super(ErrorCode.compressionError, message);
  }
}
