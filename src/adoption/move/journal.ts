import { conditionsOf, transitionTime } from '../../apimachinery/meta/conditions.js';
import {
  deepCopy,
  deepEqual,
  type JsonObject,
  objectAt,
  objectsOf,
  stringAt,
  textOf,
} from '../../apimachinery/json/json.js';
import { hasDeletionTimestamp, type KubeObject } from '../../apimachinery/meta/meta.js';
import type { LoopbackClient } from '../../registry/rest/loopback-client.js';
import type { Revision } from '../../storage/interfaces.js';
import type { Clock } from '../../util/clock.js';
import { GIVEN_UP } from '../protocol/condition.js';
import { type BackStep, MOVING, type State, stateOf, STATES } from '../protocol/states.js';

/** The record that lets another replica continue a switch. */
export interface SwitchRecord {
  /** Annex's log continued above this revision; 0 if not yet. */
  readonly first: Revision;
  /** The UID of the FlowSchema that counts writes, and since when every kube-apiserver uses it (milliseconds since the epoch); '' if not yet. */
  readonly counted: string;
  readonly countedSince: number;
  /** The identity of the fence that was in force everywhere when the copy was complete. */
  readonly fence: string;
  /** When writes began to be refused, in milliseconds since the epoch; 0 if they are not. */
  readonly fencedAt: number;
  /** The step of the return; '' if the group is not returning. */
  readonly back: BackStep;
  /** The number of the last back door opened. */
  readonly door: number;
  /** How often a switch has been given up that is tried again, and when it is, in milliseconds since the epoch; 0 if it is not. */
  readonly retries: number;
  readonly retryAt: number;
}

export const NO_SWITCH: SwitchRecord = {
  ...{ first: 0, counted: '', countedSince: 0, fence: '', fencedAt: 0, back: '', door: 0, retries: 0, retryAt: 0 },
};

/** Of Adoptions that older versions of Annex have created. */
const MAX_REFUSAL_SECONDS = 10;

/** A condition of an Adoption: type, whether it holds, a reason other than the phase, and a message other than that of the step. */
export type ConditionUpdate = readonly [type: string, holds: boolean, reason?: string, message?: string];

export interface JournalOptions {
  readonly client: LoopbackClient;
  readonly clock: Clock;
  readonly group: string;
  readonly uid: string;
}

/**
 * The Adoption's status, in which a switch records each step before taking it. It changes only under optimistic concurrency: of two
 * replicas that both believe they lead, one fails at its next step.
 */
export class Journal {
  private adoption: KubeObject | undefined;

  constructor(private readonly options: JournalOptions) {}

  /** Reads the Adoption again; throws if it is gone or was replaced. */
  async read(): Promise<void> {
    const { client, group, uid } = this.options;
    const found = await client.get('', group);
    if (found?.metadata.uid !== uid) throw new Error('the Adoption was deleted or replaced');
    this.adoption = found;
  }

  /** Reads it again. Returns true if another leader has continued the switch since it was read or written. */
  async readAgain(): Promise<boolean> {
    const [phase, record] = [this.phase, this.record];
    await this.read();
    return this.phase !== phase || !deepEqual({ ...this.record }, { ...record });
  }

  get phase(): string {
    return phaseOf(this.known);
  }

  /** The state that is recorded. */
  get state(): State {
    const state = stateOf(this.phase, this.record.back);
    if (state === undefined) throw new Error(`the phase ${this.phase} is unknown`);
    return state;
  }

  /** The server that the spec asks for; undefined if the Adoption is being deleted. */
  get wantedBy(): 'Annex' | 'Cluster' | undefined {
    return this.isWanted ? 'Annex' : this.isReturnWanted ? 'Cluster' : undefined;
  }

  get record(): SwitchRecord {
    return recordOf(this.known);
  }

  /** The message written last. */
  get message(): string {
    return textOf(conditionsOf(this.known).find(({ type }) => type === 'Ready')?.['message']);
  }

  /** True if the switch is still wanted. */
  get isWanted(): boolean {
    return isWanted(this.known);
  }

  /** True if the group is to return to the cluster, now or once Annex serves it. */
  get isReturnWanted(): boolean {
    return isReturnWanted(this.known);
  }

  /** The status of the group's types. */
  get resources(): readonly JsonObject[] {
    return objectsOf(objectAt(this.known, 'status')?.['resources']);
  }

  /** How long writes may be refused, in milliseconds. */
  get maxRefusedMillis(): number {
    return Number(this.spec['maxWriteRefusalSeconds'] ?? MAX_REFUSAL_SECONDS) * 1000;
  }

  /** How much of that is left. */
  get refusableMillis(): number {
    const { fencedAt } = this.record;
    const { maxRefusedMillis } = this;
    return fencedAt === 0 ? maxRefusedMillis : Math.max(0, fencedAt + maxRefusedMillis - this.options.clock.now());
  }

  get spec(): JsonObject {
    return objectAt(this.known, 'spec') ?? {};
  }

  /** Records a state. Throws a conflict (409) if the status was changed since it was read; changes of the spec do not matter. */
  async write(
    state: State,
    change: Partial<SwitchRecord>,
    message: string,
    findings: readonly ConditionUpdate[] = [],
    /** Further fields of the status. */
    more: JsonObject = {},
  ): Promise<void> {
    const { client, clock } = this.options;
    const { phase, back, isSwitched, takesWrites } = STATES[state];
    const own: readonly ConditionUpdate[] = [
      ['Switched', isSwitched],
      ['Ready', takesWrites],
    ];
    const next = (adoption: KubeObject): KubeObject => ({
      ...deepCopy(adoption),
      status: {
        ...deepCopy(objectAt(adoption, 'status') ?? {}),
        ...more,
        phase,
        switch: { ...recordOf(adoption), ...change, back },
        conditions: conditions(
          adoption,
          phase,
          message,
          [...own.filter(([type]) => !findings.some(([found]) => found === type)), ...findings],
          clock.now(),
        ),
      },
    });
    const before = JSON.stringify(this.known['status'] ?? null);
    try {
      this.adoption = await client.updateStatus(next(this.known));
    } catch (error) {
      await this.read();
      if (JSON.stringify(this.known['status'] ?? null) !== before) throw error;
      this.adoption = await client.updateStatus(next(this.known));
    }
  }

  /** Reports in the status what keeps the switch from continuing. */
  async reportProgress(message: string, more: JsonObject = {}): Promise<void> {
    if (!isMoving(this.known) || message === this.message) return;
    await this.write(this.state, {}, message, [], more);
  }

  /** Writes conditions beyond those of the phase, if they changed. Throws a conflict (409) if the Adoption was changed since it was read. */
  async note(findings: readonly ConditionUpdate[]): Promise<void> {
    const adoption = this.known;
    const next = conditions(adoption, this.phase, '', findings, this.options.clock.now());
    if (deepEqual(next, conditionsOf(adoption))) return;
    const status = { ...deepCopy(objectAt(adoption, 'status') ?? {}), conditions: next };
    this.adoption = await this.options.client.updateStatus({ ...deepCopy(adoption), status });
  }

  private get known(): KubeObject {
    if (this.adoption === undefined) throw new Error('the Adoption has not been read');
    return this.adoption;
  }
}

export const phaseOf = (adoption: KubeObject): string => stringAt(objectAt(adoption, 'status'), 'phase') ?? '';

export const isMoving = (adoption: KubeObject): boolean => MOVING.has(phaseOf(adoption));

export const isWanted = (adoption: KubeObject): boolean =>
  objectAt(adoption, 'spec')?.['servedBy'] === 'Annex' && !hasDeletionTimestamp(adoption);

export const isReturnWanted = (adoption: KubeObject): boolean =>
  objectAt(adoption, 'spec')?.['servedBy'] === 'Cluster' && !hasDeletionTimestamp(adoption);

/** Reports whether a switch failed and the spec has not changed since. */
export const hasFailed = (adoption: KubeObject): boolean =>
  phaseOf(adoption) === 'Failed' &&
  conditionsOf(adoption).some(
    ({ type, observedGeneration }) => type === 'Switched' && observedGeneration === adoption.metadata.generation,
  );

/** Reports whether a switch was given up that is tried again, for the present spec. */
export const isTriedAgain = (adoption: KubeObject): boolean =>
  recordOf(adoption).retryAt > 0 &&
  conditionsOf(adoption).some(
    ({ type, reason, observedGeneration }) =>
      type === 'Switched' && reason === GIVEN_UP && observedGeneration === adoption.metadata.generation,
  );

export function recordOf(adoption: KubeObject): SwitchRecord {
  return { ...NO_SWITCH, ...(objectAt(objectAt(adoption, 'status'), 'switch') as Partial<SwitchRecord> | undefined) };
}

function conditions(
  adoption: KubeObject,
  phase: string,
  message: string,
  findings: readonly ConditionUpdate[],
  now: number,
): JsonObject[] {
  const before = conditionsOf(adoption);
  const changed = findings.map(([type, holds, reason = phase, own = message]): JsonObject => {
    const status = holds ? 'True' : 'False';
    const old = before.find((one) => one['type'] === type);
    const lastTransitionTime = transitionTime(old, status, now);
    const observedGeneration = adoption.metadata.generation ?? 0;
    return { type, status, reason, message: own.slice(0, 1024), lastTransitionTime, observedGeneration };
  });
  const kept = before.filter((one) => !findings.some(([type]) => type === one['type']));
  return [...kept, ...changed];
}
