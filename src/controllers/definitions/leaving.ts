import { isLeaving, lastRevisionOf } from '../../apimachinery/meta/adopted-definitions.js';
import type { KubeObject } from '../../apimachinery/meta/meta.js';
import { HandoverReason } from '../../registry/generic/handover.js';

/** Returns why watches of a definition's type end, if it is leaving: `before` as long as the last revision is the same. */
export function leavingOf(crd: KubeObject, before: HandoverReason | undefined): HandoverReason | undefined {
  if (!isLeaving(crd)) return undefined;
  const last = lastRevisionOf(crd);
  if (before !== undefined && (last === undefined || before.since === last)) return before;
  return new HandoverReason(last ?? Number(crd.metadata.resourceVersion ?? 0));
}
