/** The guards of the protocol (docs/design/adoption.md); each can be taken away. */
export interface AdoptionGuards {
  /** There: writes in the cluster are denied before the copy is final, and for as long as the copy is there. */
  readonly fence: boolean;
  /** Annex takes writes only when every kube-apiserver routes to it, the cluster only when none does; without: when one does. */
  readonly everyRoute: boolean;
  /** There: writes that have passed admission are waited for, before what changed is carried over for the last time. */
  readonly drain: boolean;
  /** There: what changed since the base was put in place is carried over. */
  readonly carryOver: boolean;
  /** There: versions are not served in the cluster from the switch on. */
  readonly unserved: boolean;
  /** There: a fence that was changed in the middle ends the switch. */
  readonly identity: boolean;
  /** There: a cluster that has come to the first revision of Annex keeps the group. */
  readonly below: boolean;
  /** There, given up: the watch caches of the cluster begin anew, above all that Annex has shown. */
  readonly restart: boolean;
  /** The status changes by compare-and-write. */
  readonly compare: boolean;
  /** Back: writes that have passed the gate are waited for. */
  readonly gateDrain: boolean;
  /** Back: a write that was committed after the gate closed is not acknowledged. */
  readonly committedBefore: boolean;
  /** Back: what changed until the gate closed is carried over. */
  readonly lastCarry: boolean;
  /** Back: the cluster's revision is raised above that of a state before the state is written. */
  readonly raiseEach: boolean;
  /** Back: it is raised above all that was shown, before the cluster serves the versions. */
  readonly raiseAll: boolean;
  /** Back: lists of Annex show no revision above that at which the gate closed. */
  readonly pin: boolean;
  /** Back: new watches get 410 while the gate is closed, and those that there are end. */
  readonly endWatches: boolean;
  /** Back: an object of another uid is removed, and not overwritten. */
  readonly uids: boolean;
  /** Back: the versions are served by every kube-apiserver before a route goes. */
  readonly servedFirst: boolean;
  /** Back: each leader has a back door of its own. */
  readonly ownDoor: boolean;
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
  endWatches: true,
  uids: true,
  servedFirst: true,
  ownDoor: true,
};
