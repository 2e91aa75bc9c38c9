/** A restore cannot be carried out, whatever becomes of single objects. */
export class RestoreFailed extends Error {
  override readonly name = 'RestoreFailed';

  constructor(
    /** As in a condition. */
    readonly reason: string,
    message: string,
  ) {
    super(message);
  }
}
