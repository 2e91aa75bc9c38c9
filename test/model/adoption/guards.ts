/** The guards of the protocol (docs/design/adoption.md); each can be disabled. */
export interface AdoptionGuards {
  /** There: writes in the cluster are denied before the copy is final, and as long as the copy exists. */
  readonly fence: boolean;
  /** Annex accepts writes only if every kube-apiserver routes to it, the cluster only if none does. Without: if one does. */
  readonly everyRoute: boolean;
  /** There: writes that have passed admission are awaited before changes are carried over for the last time. */
  readonly drain: boolean;
  /** There: changes since the base was put in place are carried over. */
  readonly carryOver: boolean;
  /** There: versions are not served in the cluster from the switch on. */
  readonly unserved: boolean;
  /** There: a fence that was changed midway ends the switch. */
  readonly identity: boolean;
  /** There: a cluster that has reached the first revision of Annex keeps the group. */
  readonly below: boolean;
  /** There, given up: the watch caches of the cluster start from scratch, above every revision that Annex has shown. */
  readonly restart: boolean;
  /** The status changes by compare-and-write. */
  readonly compare: boolean;
  /** Back: writes that have passed the gate are awaited. */
  readonly gateDrain: boolean;
  /** Back: a write committed after the gate closed is not acknowledged. */
  readonly committedBefore: boolean;
  /** Back: changes up to the closing of the gate are carried over. */
  readonly lastCarry: boolean;
  /** Back: the cluster's revision is raised above the revision of a state before the state is written. */
  readonly raiseEach: boolean;
  /** Back: it is raised above every revision that was shown, before the cluster serves the versions. */
  readonly raiseAll: boolean;
  /** Back: lists of Annex show no revision above the one at which the gate closed. */
  readonly pin: boolean;
  /** Back: that revision lies ahead of the log, because replicas that do not know it yet show newer ones. */
  readonly pinAhead: boolean;
  /** The routes are deleted, not updated: a kube-apiserver would go on asking Annex for discovery. */
  readonly deletedRoutes: boolean;
  /** They are deleted again while a kube-apiserver asks Annex: it may not have noticed. */
  readonly discovered: boolean;
  /** Back: new watches get 410 while the gate is closed, and existing ones end. */
  readonly endWatches: boolean;
  /** Back: an object of another uid is removed, not overwritten. */
  readonly uids: boolean;
  /** Back: every kube-apiserver serves the versions before a route goes. */
  readonly servedFirst: boolean;
  /** Back: each leader has its own back door. */
  readonly ownDoor: boolean;
  /** Back: if Annex has shown a revision above the one at which the cluster began to serve the versions, the watch caches start from scratch. */
  readonly reload: boolean;
  /** Back: the fence keeps users from removing the routes. */
  readonly fencedRoutes: boolean;
}

export const ALL: AdoptionGuards = {
  fence: true,
  everyRoute: true,
  drain: true,
  carryOver: true,
  unserved: true,
  identity: true,
  below: true,
  restart: true,
  compare: true,
  gateDrain: true,
  committedBefore: true,
  lastCarry: true,
  raiseEach: true,
  raiseAll: true,
  pin: true,
  pinAhead: true,
  deletedRoutes: true,
  discovered: true,
  endWatches: true,
  uids: true,
  servedFirst: true,
  ownDoor: true,
  reload: true,
  fencedRoutes: true,
};
