import { isConflictOrNotFound } from '../../controllers/errors.js';
import { sleep } from '../../util/clock.js';
import { messageOf } from '../../util/error-message.js';
import { type Action, type Command, type Failure, Machine, type Seen } from '../protocol/transitions.js';
import { RateLimit } from '../rate-limit.js';
import type { AdoptedType } from '../rehearsal/definitions.js';
import { DependentsError } from './external-dependents.js';
import type { Journal, SwitchRecord } from './journal.js';
import { type MoveOptions, type Parts, partsOf, PassedError, RefusedError, type Steps } from './parts.js';
import { Return } from './return.js';
import { Source } from './source.js';
import { Switch } from './switch.js';

const ESTABLISH_MILLIS = 60_000;
const RETRY_MILLIS = 1_000;

/** Moves a group from the cluster to Annex, or back, as the machine decides. */
export class Mover {
  readonly journal: Journal;
  private readonly parts: Parts;
  private readonly machine = new Machine();
  private readonly there: Switch;
  private readonly back: Return;
  private readonly source: Source;
  /** Why the last step failed. */
  private failure: unknown;

  constructor(private readonly options: MoveOptions) {
    const parts = (this.parts = partsOf(options));
    this.journal = parts.journal;
    this.there = new Switch(parts);
    this.back = new Return(parts);
    const { client, clock, copyRate, group } = options;
    const { fence, journal, clusterDefinitions } = parts;
    const rate = new RateLimit(clock, copyRate);
    this.source = new Source({ client, clock, fence, group, journal, rate, clusterDefinitions });
  }

  /** Continues from the recorded state until the group rests, or the signal aborts. */
  async run(signal: AbortSignal): Promise<void> {
    const { clock, onError } = this.options;
    const { journal } = this;
    const isOver = (): boolean => signal.aborted;
    while (!isOver()) {
      try {
        await journal.read();
        await this.advance(this.machine.begin(await this.seen()), signal);
        return;
      } catch (error) {
        // Of two leaders, only one continues.
        if (!isOver() && !isConflictOrNotFound(error)) {
          onError(error);
          await journal.reportProgress(messageOf(error)).catch(onError);
        }
      } finally {
        await this.there.stop();
        this.back.stop();
      }
      await sleep(clock, RETRY_MILLIS, signal);
    }
  }

  /** Restores the barriers that remain while Annex serves the group, in case they were removed. */
  async hold(signal: AbortSignal): Promise<void> {
    await this.journal.read();
    if (this.journal.state === 'Served') await this.advance(this.machine.hold(await this.seen()), signal);
  }

  /** Frees the copy that the cluster keeps. */
  async free(signal: AbortSignal): Promise<void> {
    await this.source.free(signal);
  }

  /** See `Switch.countEarly`. */
  countEarly(types: readonly AdoptedType[], signal: AbortSignal): Promise<Partial<SwitchRecord> | undefined> {
    return this.there.countEarly(types, signal);
  }

  /** Removes what exists only for the switch. */
  async cleanUp(): Promise<void> {
    await this.there.steps.stopCounting?.(new AbortController().signal);
  }

  private async advance(first: Command, signal: AbortSignal): Promise<void> {
    const isOver = (): boolean => signal.aborted;
    for (let command = first; command.kind !== 'rest' && !isOver();) {
      try {
        if (command.kind === 'record') await this.record(command);
        else await this.step(command.action, signal);
        command = this.machine.done(command, this.known);
      } catch (error) {
        if (isOver() || isConflictOrNotFound(error)) throw error;
        const isContinued = await this.journal.readAgain();
        const next = this.machine.failed(failureOf(error), await this.seen(isContinued));
        if (next === undefined) throw error;
        this.failure = error;
        command = next;
      }
    }
  }

  private get isBack(): boolean {
    return this.journal.record.back !== '';
  }

  private get known(): Pick<Seen, 'wasRouted' | 'isRetried'> {
    const { fence, retryAt } = this.journal.record;
    return { wasRouted: fence !== '', isRetried: retryAt > 0 };
  }

  private async seen(isContinued = false): Promise<Seen> {
    const { journal } = this;
    const { state, wantedBy, record } = journal;
    const isFenced = state === 'Fencing' || state === 'Switching';
    const isChanged = state === 'Switching' && (await this.parts.fence.identity()) !== record.fence;
    const isOverdue = isChanged || (isFenced && journal.refusableMillis === 0);
    return { state, wantedBy, isContinued, isOverdue, ...this.known };
  }

  private async record({ state, isRetried = false }: Extract<Command, { readonly kind: 'record' }>): Promise<void> {
    switch (state) {
      case 'InSync':
        throw new Error('the rehearsal records this state');
      case 'Returning':
      case 'Closing':
      case 'Routing':
        return this.back.record(state);
      case 'Served':
        return this.isBack ? this.back.record(state, this.failure) : this.there.record(state);
      case 'Copying':
        return this.isBack ? this.back.record(state) : this.there.record(state);
      case 'GivingUp':
        return this.there.giveUp(this.failure === undefined ? 'it took too long' : messageOf(this.failure), isRetried);
      default:
        return this.there.record(state);
    }
  }

  private async step(action: Action, signal: AbortSignal): Promise<void> {
    const way = this.isBack ? this.back.steps : this.there.steps;
    const step = way[action] ?? this.both[action] ?? this.there.steps[action];
    if (step === undefined) throw new Error(`no step ${action}`);
    await step(signal);
  }

  /** The steps that both ways have. */
  private readonly both: Steps = {
    stopServing: () => this.parts.clusterDefinitions.stopServing(),
    openGate: () => this.parts.annexDefinitions.setStage('Served'),
    holdFence: async () => {
      const { clusterDefinitions, fence } = this.parts;
      if ((await clusterDefinitions.list()).length > 0) await fence.put();
      else await fence.remove();
    },
    reportRetained: () => this.source.reportRetained(),
    leave: () => this.parts.annexDefinitions.setStage('Left'),
    removeDefinitions: (signal) => this.parts.annexDefinitions.remove(ESTABLISH_MILLIS, signal),
    discardCopy: async () => {
      const { staging } = this.options;
      // By the cluster's definitions: those of Annex are gone.
      for (const { metadata } of await this.parts.clusterDefinitions.list()) await staging.discard(metadata.name ?? '');
      await staging.drop();
    },
    discover: (signal) => this.parts.discovery.complete(signal),
    closeDoor: async () => {
      const { annexDefinitions, clusterDefinitions } = this.parts;
      await clusterDefinitions.closeBackDoor(await annexDefinitions.list());
    },
  };
}

function failureOf(error: unknown): Failure {
  if (error instanceof PassedError) return 'passed';
  return error instanceof RefusedError || error instanceof DependentsError ? 'refused' : 'failed';
}
