/** What the status of an Adoption shows. */
type Phase = 'Copying' | 'InSync' | 'Preparing' | 'Fencing' | 'Switching' | 'Served' | 'Returning' | 'Failed';

/** The step of the way back, in `status.switch.back`. Copying: Annex takes writes, and the cluster's copy follows. Closing: neither takes writes. Routing: requests go to the cluster. */
export type BackStep = '' | 'Copying' | 'Closing' | 'Routing';

/**
 * The states of an adoption. Each is recorded in the status as a phase and a step of the way back, before the first step that it announces;
 * Returning has four: Annex gives the group back (Returning, Closing, Routing), or a switch is given up (GivingUp).
 */
export type State =
  | 'Copying'
  | 'InSync'
  | 'Preparing'
  | 'Fencing'
  | 'Switching'
  | 'Served'
  | 'Returning'
  | 'Closing'
  | 'Routing'
  | 'GivingUp'
  | 'Failed';

interface StateFacts {
  readonly phase: Phase;
  readonly back: BackStep;
  /** The leader continues it. */
  readonly moves: boolean;
  /** Annex serves the group to clients: the condition Switched. */
  readonly isSwitched: boolean;
  /** The server of the group accepts writes: the condition Ready. */
  readonly takesWrites: boolean;
}

const facts = (
  phase: Phase,
  { back = '', moves = false, isSwitched = false, takesWrites = false }: Partial<StateFacts> = {},
): StateFacts => ({ phase, back, moves, isSwitched, takesWrites });

export const STATES: Readonly<Record<State, StateFacts>> = {
  Copying: facts('Copying', { takesWrites: true }),
  InSync: facts('InSync', { takesWrites: true }),
  Preparing: facts('Preparing', { moves: true, takesWrites: true }),
  Fencing: facts('Fencing', { moves: true }),
  Switching: facts('Switching', { moves: true }),
  Served: facts('Served', { isSwitched: true, takesWrites: true }),
  Returning: facts('Returning', { back: 'Copying', moves: true, isSwitched: true, takesWrites: true }),
  Closing: facts('Returning', { back: 'Closing', moves: true, isSwitched: true }),
  Routing: facts('Returning', { back: 'Routing', moves: true }),
  GivingUp: facts('Returning', { moves: true }),
  Failed: facts('Failed', { takesWrites: true }),
};

/** Returns the state that a status records; undefined if it is none that this version knows. */
export function stateOf(phase: string, back: string): State | undefined {
  const states = Object.keys(STATES) as State[];
  const isOf = (state: State): boolean => STATES[state].phase === phase;
  return states.find((state) => isOf(state) && STATES[state].back === back) ?? states.find(isOf);
}

/** The phases in which a group moves: the leader continues them. */
export const MOVING: ReadonlySet<string> = new Set(
  Object.values(STATES).flatMap(({ moves, phase }) => (moves ? [phase] : [])),
);
