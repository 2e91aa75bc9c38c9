/** The body is not an object of the type: the text stands after `… cannot be handled as a Widget: `. */
export class DecodeError extends Error {
  override readonly name = 'DecodeError';
}
