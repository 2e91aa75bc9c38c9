/** A header block that cannot be decoded; the connection is lost, because its table may differ from the sender's now. */
export class HpackError extends Error {}
