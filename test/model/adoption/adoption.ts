import { type Command, type Failure, Machine, type Seen } from '../../../src/adoption/protocol/transitions.js';
import type { Party, Steps } from '../parties.js';
import type { AdoptionGuards } from './guards.js';
import { Leader, type Outcome } from './leader.js';
import { type Status, World } from './world.js';

export interface ExploredAdoption extends Readonly<World['counts']> {
  readonly violations: readonly string[];
}

/** Runs one schedule: the steps of the parties, in an order that the seed decides. */
export function exploreAdoption(seed: number, guards: AdoptionGuards, steps = 2_500): ExploredAdoption {
  const world = new World(seed, guards, leaderOf);
  world.run(steps);
  return { violations: world.violations, ...world.counts };
}

/** A replica that believes that it is the leader. There may be two. It does what the machine says that production runs. */
export function* leaderOf(world: World): Party {
  const machine = new Machine(world.guards.table);
  const leader = new Leader(world);
  for (;;) {
    yield;
    leader.read();
    if (leader.status.state === 'Failed') {
      if (world.wanted === 'Cluster') leader.record({ kind: 'record', state: 'InSync' });
      continue;
    }
    const first = begin(machine, world, leader.status);
    if (first !== undefined) yield* carryOut(machine, first, world, leader);
  }
}

function begin(machine: Machine, world: World, status: Status): Command | undefined {
  const seen = look(world, status);
  const command = machine.begin(seen);
  if (status.state !== 'Served' || command.kind !== 'rest') return command;
  return world.isMeddled ? undefined : machine.hold(seen);
}

function* carryOut(machine: Machine, first: Command, world: World, leader: Leader): Steps<void> {
  for (let command: Command | undefined = first; command !== undefined && command.kind !== 'rest';) {
    // A leader that has lost its Lease stops.
    if (!world.isCurrent(leader.status)) return;
    const outcome: Outcome = command.kind === 'record' ? leader.record(command) : yield* leader.step(command.action);
    if (outcome === 'lost') return;
    if (outcome === 'done') command = machine.done(command, look(world, leader.status));
    else command = fail(machine, outcome, world, leader);
  }
}

function fail(machine: Machine, failure: Failure, world: World, leader: Leader): Command | undefined {
  const isContinued = !world.isCurrent(leader.status);
  leader.read();
  return machine.failed(failure, { ...look(world, leader.status), isContinued });
}

function look(world: World, { state, fence, isRetried }: Status): Seen {
  const isOverdue =
    state === 'Switching'
      ? fence !== world.fenceIdentity || world.random.once(2)
      : state === 'Fencing' && world.random.once(3);
  return { state, wantedBy: world.wanted, wasRouted: fence !== undefined, isContinued: false, isOverdue, isRetried };
}
