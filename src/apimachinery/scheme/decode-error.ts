/** A body that is not an object of the type. The message follows `… cannot be handled as a Widget: `. */
export class DecodeError extends Error {
  override readonly name = 'DecodeError';
}
