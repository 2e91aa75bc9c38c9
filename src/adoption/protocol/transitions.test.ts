import { adoptionDefinition } from '../../registry/builtin/kubeannex/adoptions.js';
import { objectAt, objectsOf } from '../../apimachinery/json/json.js';
import { type State, stateOf, STATES } from './states.js';
import { type Command, type Failure, Machine, type Seen, TRANSITIONS, without } from './transitions.js';

const seen = (state: State, more: Partial<Seen> = {}): Seen => ({
  ...{ state, wantedBy: 'Annex', wasRouted: false, isContinued: false, isOverdue: false, isRetried: false },
  ...more,
});

/** Carries out everything; returns the steps, and the states in brackets. */
function runs(machine: Machine, first: Command, wasRouted = false, isRetried = false): string[] {
  const done: string[] = [];
  for (let command = first; command.kind !== 'rest'; command = machine.done(command, { wasRouted, isRetried }))
    done.push(command.kind === 'record' ? `[${command.state}]` : command.action);
  return done;
}

/** Begins in a state and fails at its first step. */
function fails(state: State, failure: Failure, more: Partial<Seen> = {}): Command | undefined {
  const machine = new Machine();
  machine.begin(seen(state, more));
  return machine.failed(failure, seen(state, more));
}

test('a switch fences before it routes, and every kube-apiserver has the route before the gate opens', () => {
  const machine = new Machine();
  const order = runs(machine, machine.begin(seen('InSync')));
  expect(order.filter((one) => one.startsWith('['))).toEqual(['[Preparing]', '[Fencing]', '[Switching]', '[Served]']);
  const at = [
    'follow',
    '[Fencing]',
    'awaitFence',
    'drain',
    'carryOver',
    '[Switching]',
    'awaitRoute',
    '[Served]',
    'openGate',
  ];
  expect(order.filter((one) => at.includes(one))).toEqual(at);
});

test('a leader that finds Fencing or Closing begins where its predecessor may have done a part', () => {
  const machine = new Machine();
  expect(machine.begin(seen('Fencing'))).toEqual({ kind: 'step', action: 'countWrites' });
  expect(machine.begin(seen('Closing', { wantedBy: 'Cluster' }))).toEqual({ kind: 'step', action: 'takeDoor' });
  expect(machine.begin(seen('Routing', { wantedBy: 'Cluster' }))).toEqual({ kind: 'step', action: 'serve' });
});

test('a group rests where it is wanted', () => {
  const machine = new Machine();
  for (const state of ['Copying', 'Failed'] as const) expect(machine.begin(seen(state)).kind).toBe('rest');
  expect(machine.begin(seen('InSync', { wantedBy: 'Cluster' })).kind).toBe('rest');
  expect(machine.begin(seen('Served')).kind).toBe('rest');
  expect(machine.begin(seen('Served', { wantedBy: 'Cluster' }))).toEqual({ kind: 'record', state: 'Returning' });
});

test('a switch that is given up raises revisions only if clients may have been routed to Annex', () => {
  const machine = new Machine();
  const unrouted = runs(machine, machine.begin(seen('GivingUp')));
  expect(unrouted).not.toContain('raiseAboveShown');
  const routed = runs(machine, machine.begin(seen('GivingUp', { wasRouted: true })), true);
  expect(routed.indexOf('awaitFence')).toBeLessThan(routed.indexOf('raiseAboveShown'));
  expect(routed.indexOf('raiseAboveShown')).toBeLessThan(routed.indexOf('serve'));
  expect(routed.at(-1)).toBe('[Failed]');
});

test('a switch that fails while writes are refused lifts the fence first, and is tried again', () => {
  expect(fails('Fencing', 'failed')).toEqual({ kind: 'record', state: 'GivingUp', isRetried: true });
  // The next attempt begins above the revision that the cluster has passed.
  expect(fails('Preparing', 'passed')).toMatchObject({ isRetried: true });
  expect(fails('Fencing', 'refused')).toEqual({ kind: 'record', state: 'GivingUp', isRetried: false });
  expect(fails('Fencing', 'failed', { wantedBy: undefined })).toMatchObject({ isRetried: false });
  const machine = new Machine();
  const order = runs(machine, machine.begin(seen('GivingUp', { isRetried: true })), false, true);
  expect(order[0]).toBe('removeFence');
  expect(order.at(-1)).toBe('[Copying]');
});

test('a leader that finds a fence that has stood for too long gives up', () => {
  const command = new Machine().begin(seen('Fencing', { isOverdue: true }));
  expect(command).toEqual({ kind: 'record', state: 'GivingUp', isRetried: true });
});

test.each<[State, Failure, Partial<Seen>, string | undefined]>([
  ['Preparing', 'failed', {}, undefined],
  ['Preparing', 'refused', {}, 'GivingUp'],
  ['Preparing', 'passed', {}, 'GivingUp'],
  ['Fencing', 'failed', {}, 'GivingUp'],
  ['Switching', 'failed', {}, undefined],
  ['Switching', 'failed', { isOverdue: true }, 'GivingUp'],
  ['Switching', 'refused', {}, 'GivingUp'],
  ['Switching', 'refused', { isContinued: true }, undefined],
  ['GivingUp', 'refused', {}, undefined],
  ['Returning', 'failed', { wantedBy: 'Cluster' }, undefined],
  ['Returning', 'refused', { wantedBy: 'Cluster' }, 'openGate'],
  ['Returning', 'failed', { wantedBy: undefined }, 'openGate'],
  ['Closing', 'failed', { wantedBy: 'Cluster' }, 'openGate'],
  ['Closing', 'failed', { wantedBy: 'Cluster', isContinued: true }, undefined],
  ['Routing', 'refused', { wantedBy: 'Cluster' }, undefined],
])('%s, %s, %j: %s', (state, failure, more, expected) => {
  const command = fails(state, failure, more);
  expect(command?.kind === 'record' ? command.state : command?.kind === 'step' ? command.action : undefined).toBe(
    expected,
  );
});

test('a step of a return that is being given up is not given up again', () => {
  const machine = new Machine();
  machine.begin(seen('Closing', { wantedBy: 'Cluster' }));
  machine.failed('failed', seen('Closing', { wantedBy: 'Cluster' }));
  expect(machine.failed('refused', seen('Closing', { wantedBy: 'Cluster' }))).toBeUndefined();
});

test('steps can be taken out of the table by their guard', () => {
  const actions = (table: typeof TRANSITIONS): string[] => table.Fencing.steps.map(({ action }) => action);
  expect(actions(TRANSITIONS)).toContain('drain');
  expect(actions(without(new Set(['drain'])))).not.toContain('drain');
});

test('every state is recorded as a phase that the schema of Adoption has', () => {
  const [version] = objectsOf(objectAt(adoptionDefinition(), 'spec')?.['versions']);
  const schema = objectAt(objectAt(version, 'schema'), 'openAPIV3Schema');
  const status = objectAt(objectAt(objectAt(schema, 'properties'), 'status'), 'properties');
  const phases = objectAt(status, 'phase')?.['enum'];
  expect([...new Set(Object.values(STATES).map(({ phase }) => phase))]).toEqual(phases);
  for (const [state, { phase, back }] of Object.entries(STATES)) expect(stateOf(phase, back)).toBe(state);
});
