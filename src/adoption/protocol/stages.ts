import type { KubeObject } from '../../apimachinery/meta/meta.js';
import { ADOPTION_LAST_REVISION, ADOPTION_STAGE } from './names.js';

/**
 * The stages of an adoption, by which every replica of Annex knows what it may do with a type:
 * - Copying: the cluster serves the group; Annex keeps a copy.
 * - Switching: requests for the group reach Annex, and no server accepts writes.
 * - Served: only Annex accepts writes.
 * - Closing: requests for the group reach Annex, and no new writes begin.
 * - Returning: every write has ended. Requests for the group reach Annex, no server accepts writes, and watches end: the cluster
 *   is about to serve the group again.
 * - Left: the cluster serves the group again. Requests from a kube-apiserver that has not noticed yet are answered as in
 *   Returning.
 */
export type AdoptionStage = 'Copying' | 'Switching' | 'Served' | 'Closing' | 'Returning' | 'Left';

interface StageFacts {
  /** The cluster owns the group, and its changes are written to the copy here. */
  readonly follows: boolean;
  /** Requests for the group are routed to Annex. */
  readonly isRouted: boolean;
  /** The objects are more than a copy of the cluster's. */
  readonly owns: boolean;
  readonly takesWrites: boolean;
  /** Clients that watch the group have to list it again, elsewhere. */
  readonly leaves: boolean;
}

const STAGES: Readonly<Record<AdoptionStage, StageFacts>> = {
  Copying: { follows: true, isRouted: false, owns: false, takesWrites: false, leaves: false },
  Switching: { follows: true, isRouted: true, owns: false, takesWrites: false, leaves: false },
  Served: { follows: false, isRouted: true, owns: true, takesWrites: true, leaves: false },
  Closing: { follows: false, isRouted: true, owns: true, takesWrites: false, leaves: false },
  Returning: { follows: false, isRouted: true, owns: true, takesWrites: false, leaves: true },
  Left: { follows: false, isRouted: false, owns: false, takesWrites: false, leaves: true },
};
const UNKNOWN: StageFacts = { follows: false, isRouted: false, owns: false, takesWrites: false, leaves: false };

/** Returns what holds in a stage; in one that only a later version of Annex knows, nothing does. */
export const stageFacts = (stage: string): StageFacts =>
  (STAGES as Readonly<Record<string, StageFacts | undefined>>)[stage] ?? UNKNOWN;

/** Returns the stage that a definition records; undefined if no adoption has created it. */
export const stageOf = ({ metadata }: KubeObject): string | undefined => metadata.annotations?.[ADOPTION_STAGE];

/** Reports whether Annex's objects of a definition are only a copy of the cluster's; if so, they are not deleted with the definition. */
export function isCopy(definition: KubeObject): boolean {
  const stage = stageOf(definition);
  return stage !== undefined && !stageFacts(stage).owns;
}

/** Returns the newest revision that lists of a type show whose definition is leaving; undefined if an older version of Annex has set the stage. */
export function lastRevisionOf({ metadata }: KubeObject): number | undefined {
  const last = metadata.annotations?.[ADOPTION_LAST_REVISION];
  return last === undefined ? undefined : Number(last);
}
