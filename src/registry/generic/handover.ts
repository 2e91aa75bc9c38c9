/** The reason why watches of a type end: another server is about to serve it, and clients have to list there. */
export class HandoverReason {
  constructor(
    /** The newest revision that lists show: the other server does not know later ones. */
    readonly since: number,
  ) {}
}

/** Returns the reason of `watchesEnd` if the type is about to be served elsewhere. */
export function handoverReason(watchesEnd: AbortSignal | undefined): HandoverReason | undefined {
  const reason: unknown = watchesEnd?.reason;
  return reason instanceof HandoverReason ? reason : undefined;
}
