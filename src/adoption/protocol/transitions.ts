import type { State } from './states.js';

/** What the leader does in one step. Each may already have been done, by a leader that is gone. */
export type Action =
  // there
  | 'countWrites'
  | 'awaitCounted'
  | 'placeCopy'
  | 'createDefinitions'
  | 'awaitReplicas'
  | 'follow'
  | 'rehearseFence'
  | 'check'
  | 'compareRevisions'
  | 'putFence'
  | 'awaitFence'
  | 'drain'
  | 'carryOver'
  | 'compareFence'
  | 'compareDefinitions'
  | 'route'
  | 'awaitRoute'
  | 'stopServing'
  | 'openGate'
  | 'stopCounting'
  // while Annex serves the group
  | 'holdFence'
  | 'reportRetained'
  // there, given up
  | 'shutWatches'
  | 'raiseAboveShown'
  | 'serve'
  | 'restartCaches'
  | 'leave'
  | 'awaitLeft'
  | 'awaitRouteBack'
  | 'removeDefinitions'
  | 'discardCopy'
  | 'removeFence'
  | 'discover'
  | 'unmark'
  // back
  | 'takeDoor'
  | 'openDoor'
  | 'awaitDoor'
  | 'bring'
  | 'load'
  | 'closeGate'
  | 'awaitGate'
  | 'endWatches'
  | 'lastCarry'
  | 'compareCounts'
  | 'guardDependents'
  | 'raise'
  | 'reload'
  | 'awaitServed'
  | 'repoint'
  | 'closeDoor'
  | 'undoDependents';

/** A guard of the protocol (docs/design/adoption.md). Without the steps that carry its name, the model finds what it prevents. */
export type Guard =
  | 'fence'
  | 'everyRoute'
  | 'drain'
  | 'carryOver'
  | 'unserved'
  | 'identity'
  | 'below'
  | 'restart'
  | 'gateDrain'
  | 'lastCarry'
  | 'raiseAll'
  | 'discovered'
  | 'servedFirst'
  | 'reload';

interface Step {
  readonly action: Action;
  readonly guard?: Guard;
  /** Only if clients may have been routed to Annex, or only if none has been. */
  readonly ifRouted?: boolean;
}

/** Why a step failed. Refused: it cannot succeed any more. Passed: it cannot in this attempt, because the cluster has passed Annex's first revision. */
export type Failure = 'failed' | 'refused' | 'passed';

/** What the leader sees when a step has failed, or when it begins. */
export interface Seen {
  /** The recorded state. */
  readonly state: State;
  /** The server that the spec asks for; undefined if the Adoption is being deleted. */
  readonly wantedBy: 'Annex' | 'Cluster' | undefined;
  /** Clients may have been routed to Annex. */
  readonly wasRouted: boolean;
  /** Another leader has continued since this one has read or recorded the state. */
  readonly isContinued: boolean;
  /** Writes have been refused for as long as they may be, or, in Switching, the fence is not the recorded one any more. */
  readonly isOverdue: boolean;
  /** The switch that is given up is tried again by itself. */
  readonly isRetried: boolean;
}

/**
 * Staying: a return is given up; it is not recorded, so another leader finds the state before. Holding: what keeps the group with Annex is
 * restored, in case somebody has removed it.
 */
type Program = State | 'Staying' | 'Holding';

interface Row {
  readonly steps: readonly Step[];
  /** The state that follows the last step; undefined if the group rests. */
  readonly then?: State | ((seen: Pick<Seen, 'isRetried'>) => State);
  /** Returns what follows a failed step; undefined if it is repeated. */
  readonly failed?: (failure: Failure, seen: Seen) => State | 'Staying' | undefined;
}

const step = (action: Action, guard?: Guard): Step => ({ action, ...(guard !== undefined && { guard }) });
const ifRouted = (action: Action, guard?: Guard): Step => ({ ...step(action, guard), ifRouted: true });
const unlessRouted = (action: Action): Step => ({ ...step(action), ifRouted: false });

/** One row for each state: what is done, in this order, what follows, and what follows a failure. */
export type Table = Readonly<Record<Program, Row>>;

export const TRANSITIONS: Table = {
  Copying: { steps: [] },
  InSync: { steps: [], then: 'Preparing' },
  // The cluster takes writes: what fails is repeated.
  Preparing: {
    steps: [
      step('countWrites'),
      step('awaitCounted'),
      step('placeCopy'),
      step('createDefinitions'),
      step('awaitReplicas'),
      step('follow'),
      // What can wait for a slow kube-apiserver waits before writes are refused.
      step('rehearseFence'),
      step('check'),
      step('compareRevisions', 'below'),
    ],
    then: 'Fencing',
    failed: (failure) => (failure === 'failed' ? undefined : 'GivingUp'),
  },
  Fencing: {
    steps: [
      step('putFence', 'fence'),
      step('awaitFence', 'fence'),
      step('drain', 'drain'),
      step('carryOver', 'carryOver'),
      step('check'),
      step('compareRevisions', 'below'),
      step('compareFence', 'identity'),
      step('compareDefinitions'),
    ],
    then: 'Switching',
    failed: () => 'GivingUp',
  },
  Switching: {
    steps: [
      step('check'),
      step('compareFence', 'identity'),
      step('compareDefinitions'),
      step('route'),
      step('awaitRoute', 'everyRoute'),
      step('compareRevisions', 'below'),
      step('stopServing', 'unserved'),
      step('check'),
      step('compareRevisions', 'below'),
      step('compareFence', 'identity'),
      step('compareDefinitions'),
    ],
    then: 'Served',
    failed: (failure, { isOverdue }) => (failure !== 'failed' || isOverdue ? 'GivingUp' : undefined),
  },
  Served: { steps: [step('openGate'), step('stopCounting')] },
  // First the cluster serves reads again, then it takes writes.
  GivingUp: {
    steps: [
      // No client reads the copy of Annex: the cluster takes writes at once.
      unlessRouted('removeFence'),
      // The fence may have been removed: writes must stay refused while some clients still read the copy.
      ifRouted('putFence', 'fence'),
      ifRouted('awaitFence', 'fence'),
      ifRouted('shutWatches'),
      ifRouted('raiseAboveShown', 'raiseAll'),
      step('serve'),
      ifRouted('restartCaches', 'restart'),
      step('leave'),
      step('awaitLeft'),
      step('awaitRouteBack', 'everyRoute'),
      step('removeFence'),
      step('removeDefinitions'),
      step('discardCopy'),
      step('discover', 'discovered'),
      step('unmark'),
    ],
    then: ({ isRetried }) => (isRetried ? 'Copying' : 'Failed'),
  },
  Failed: { steps: [] },
  // Annex takes writes: what fails is repeated, because it blocks no client.
  Returning: {
    steps: [
      // Recorded first: another leader that has closed the gate fails at its next record.
      step('takeDoor'),
      step('openGate'),
      step('openDoor'),
      step('awaitDoor'),
      step('bring'),
      step('load'),
      step('check'),
    ],
    then: 'Closing',
    failed: (failure, { wantedBy }) => (failure === 'refused' || wantedBy !== 'Cluster' ? 'Staying' : undefined),
  },
  Closing: {
    steps: [
      step('closeGate'),
      step('awaitGate', 'gateDrain'),
      step('endWatches'),
      step('lastCarry', 'lastCarry'),
      step('compareCounts', 'lastCarry'),
      step('guardDependents'),
      step('raise', 'raiseAll'),
      step('reload', 'reload'),
      step('check'),
    ],
    then: 'Routing',
    failed: () => 'Staying',
  },
  // First reads go to the cluster, then writes. The cluster has everything: each step is repeated until it succeeds.
  Routing: {
    steps: [
      step('serve'),
      step('awaitServed', 'servedFirst'),
      step('leave'),
      step('awaitLeft'),
      step('awaitRouteBack', 'everyRoute'),
      step('removeFence'),
      step('repoint'),
      step('discover', 'discovered'),
      step('closeDoor'),
      step('removeDefinitions'),
      step('discardCopy'),
    ],
    then: 'Copying',
  },
  Staying: {
    steps: [
      step('openGate'),
      step('stopServing', 'unserved'),
      step('undoDependents'),
      step('closeDoor'),
      step('putFence', 'fence'),
    ],
    then: 'Served',
  },
  Holding: {
    steps: [
      step('closeDoor'),
      step('stopServing', 'unserved'),
      step('holdFence', 'fence'),
      step('openGate'),
      step('stopCounting'),
      step('reportRetained'),
    ],
  },
};

/** Where a leader begins that finds a state in which its predecessor may have done a part: completed steps have no effect. */
const BEGINS: Readonly<Partial<Record<State, Program>>> = { Fencing: 'Preparing', Closing: 'Returning' };

/** What the leader does next: a step, the record of a state, or nothing, until the state or the spec changes. */
export type Command =
  | { readonly kind: 'step'; readonly action: Action }
  | {
      readonly kind: 'record';
      readonly state: State;
      /** A switch that is given up is tried again. */
      readonly isRetried?: boolean;
    }
  | { readonly kind: 'rest' };

const REST: Command = { kind: 'rest' };

/** What cannot succeed is not tried again before the spec changes. */
const givingUp = (failure: Failure, { wantedBy }: Seen): Command => ({
  kind: 'record',
  state: 'GivingUp',
  isRetried: failure !== 'refused' && wantedBy === 'Annex',
});

/** Decides what a leader does, from what it has done and seen. It has no clock, and performs nothing. */
export class Machine {
  private program: Program = 'Copying';
  private at = 0;
  private seen: Pick<Seen, 'wasRouted' | 'isRetried'> = { wasRouted: false, isRetried: false };

  constructor(private readonly table: Table = TRANSITIONS) {}

  /** Begins with the recorded state. */
  begin(seen: Seen): Command {
    const { state, wantedBy } = seen;
    if (state === 'InSync' && wantedBy !== 'Annex') return REST;
    if (state === 'Served' && wantedBy !== 'Cluster') return REST;
    if (state === 'Served') return { kind: 'record', state: 'Returning' };
    if (state === 'Fencing' && seen.isOverdue) return givingUp('failed', seen);
    return this.enter(BEGINS[state] ?? state, seen);
  }

  /** Begins to restore what keeps the group with Annex. */
  hold(seen: Seen): Command {
    return this.enter('Holding', seen);
  }

  /** A step is done, or a state is recorded. */
  done(command: Command, seen: Pick<Seen, 'wasRouted' | 'isRetried'>): Command {
    if (command.kind === 'record') return this.enter(command.state, seen);
    this.at++;
    return this.next();
  }

  /** A step has failed. Returns undefined if the leader is to begin again with the recorded state. */
  failed(failure: Failure, seen: Seen): Command | undefined {
    const isOver = seen.isContinued || this.program === 'Staying' || this.program === 'Holding';
    const next = isOver ? undefined : this.table[seen.state].failed?.(failure, seen);
    if (next === undefined) return undefined;
    if (next === 'Staying') return this.enter(next, seen);
    return next === 'GivingUp' ? givingUp(failure, seen) : { kind: 'record', state: next };
  }

  private enter(program: Program, { wasRouted, isRetried }: Pick<Seen, 'wasRouted' | 'isRetried'>): Command {
    this.program = program;
    this.seen = { wasRouted, isRetried };
    this.at = 0;
    return this.next();
  }

  private next(): Command {
    const { steps, then } = this.table[this.program];
    let found = steps[this.at];
    while (found?.ifRouted !== undefined && found.ifRouted !== this.seen.wasRouted) found = steps[++this.at];
    if (found !== undefined) return { kind: 'step', action: found.action };
    if (then === undefined) return REST;
    return { kind: 'record', state: typeof then === 'string' ? then : then(this.seen) };
  }
}

/** Returns the table without the steps of some guards. */
export function without(guards: ReadonlySet<Guard>): Table {
  const rows = Object.entries(TRANSITIONS).map(([program, row]): [string, Row] => [
    program,
    { ...row, steps: row.steps.filter(({ guard }) => guard === undefined || !guards.has(guard)) },
  ]);
  return Object.fromEntries(rows) as Table;
}
