import type { GroupResource, KubeObject } from '../../apimachinery/meta/meta.js';

/** What the server sees of groups that another server has, gets or gives away. */
export interface Handover {
  /** Reports whether a type accepts writes. */
  takesWrites(type: GroupResource): boolean;
  /** Returns why watches of a definition's type end, if its clients have to list it elsewhere. `before`: the reason until now. */
  relist(definition: KubeObject, before: HandoverReason | undefined): HandoverReason | undefined;
}

/** The response to a watch of a type that another server is about to serve: its clients list again. It names a revision that no server has. */
export const RELIST_ELSEWHERE_MESSAGE = 'too old resource version: 0 (0)';

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
