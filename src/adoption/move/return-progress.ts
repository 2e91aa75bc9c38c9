import type { JsonObject } from '../../apimachinery/json/json.js';
import type { RevisionRaiser } from '../cluster/revision-raiser.js';
import type { ReverseCopier } from './reverse-copier.js';

/** How far a return has come. */
export interface ReturnProgress {
  readonly copier: Pick<ReverseCopier, 'progress' | 'createdInAnnex'> | undefined;
  readonly raiser: Pick<RevisionRaiser, 'progress'>;
  readonly isLoading: boolean;
  readonly skipsRaise: boolean;
}

/** Returns the message of the status. */
export function returnMessage({ copier, raiser, isLoading }: ReturnProgress): string {
  const { from, to, reached, secondsLeft } = raiser.progress;
  if (reached < to) {
    const left = secondsLeft === undefined ? '' : `, which takes about ${secondsLeft} s more`;
    return `Annex accepts writes; small writes raise the cluster's revision from ${from} to ${to}${left}`;
  }
  if (isLoading) return 'Annex accepts writes; kube-apiservers load the objects of the group';
  const { done = 0, left = 0, trouble = '' } = copier?.progress ?? {};
  const why = trouble === '' ? '' : `; ${trouble}`;
  return `Annex accepts writes; ${done} objects have been copied back, ${left} remain${why}`;
}

/** Returns the field `return` of the status. */
export function returnStatus({ copier, raiser, skipsRaise }: ReturnProgress): JsonObject {
  const { done = 0, left = 0, refused = 0, lowered = 0 } = copier?.progress ?? {};
  const carried = { carried: done, left, refused, born: copier?.createdInAnnex.size ?? 0, loweredGenerations: lowered };
  if (skipsRaise) return carried;
  const { from, to, reached, secondsLeft } = raiser.progress;
  const raised = { raiseFrom: from, raiseTo: to, raised: reached };
  return { ...carried, ...raised, ...(secondsLeft !== undefined && { raiseSecondsLeft: secondsLeft }) };
}
