import { type Guard, type Table, TRANSITIONS, without } from '../../../src/adoption/protocol/transitions.js';

/** The guards that are not steps of the leader, but what the steps, the stages and the status mean; each can be disabled. */
export interface WorldGuards {
  /** The status changes by compare-and-write. */
  readonly compare: boolean;
  /** Back: a write committed after the gate closed is not acknowledged. */
  readonly committedBefore: boolean;
  /** Back: the cluster's revision is raised above the revision of a state before the state is written. */
  readonly raiseEach: boolean;
  /** Back: lists of Annex show no revision above the one at which the gate closed. */
  readonly pin: boolean;
  /** Back: that revision lies ahead of the log, because replicas that do not know it yet show newer ones. */
  readonly pinAhead: boolean;
  /** The routes are deleted, not updated: a kube-apiserver would go on asking Annex for discovery. */
  readonly deletedRoutes: boolean;
  /** Back: new watches get 410 while the gate is closed, and existing ones end. */
  readonly endWatches: boolean;
  /** Back: an object of another uid is removed, not overwritten. */
  readonly uids: boolean;
  /** Back: each leader has its own back door. */
  readonly ownDoor: boolean;
  /** Back: the fence keeps users from removing the routes. */
  readonly fencedRoutes: boolean;
}

export type AnyGuard = Guard | keyof WorldGuards;

/** The guards of the protocol (docs/design/adoption.md): the leader's steps that carry a guard's name, and those of the world. */
export interface AdoptionGuards extends WorldGuards {
  readonly table: Table;
}

export const ALL: AdoptionGuards = {
  table: TRANSITIONS,
  compare: true,
  committedBefore: true,
  raiseEach: true,
  pin: true,
  pinAhead: true,
  deletedRoutes: true,
  endWatches: true,
  uids: true,
  ownDoor: true,
  fencedRoutes: true,
};

/** Returns all guards but those that are named: their steps are taken out of the table that production runs. */
export function lacking(guards: readonly AnyGuard[]): AdoptionGuards {
  const steps = new Set<Guard>();
  const disabled: Partial<Record<keyof WorldGuards, false>> = {};
  for (const guard of guards) {
    if (guard in ALL) disabled[guard as keyof WorldGuards] = false;
    else steps.add(guard as Guard);
  }
  return { ...ALL, ...disabled, table: without(steps) };
}
