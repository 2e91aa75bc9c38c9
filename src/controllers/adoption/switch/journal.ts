import { conditionsOf, transitionTime } from '../../../apimachinery/meta/conditions.js';
import { deepCopy, deepEqual, type JsonObject, objectAt, stringAt } from '../../../apimachinery/json/json.js';
import { objectsOf, textOf } from '../../../apimachinery/json/values.js';
import { hasDeletionTimestamp, type KubeObject } from '../../../apimachinery/meta/meta.js';
import type { LoopbackClient } from '../../../registry/rest/loopback-client.js';
import type { Revision } from '../../../storage/interfaces.js';
import type { Clock } from '../../../util/clock.js';

/** Phases in which something moves: whoever leads goes on with it. */
const MOVING = ['Preparing', 'Fencing', 'Switching', 'Returning'] as const;
type MovingPhase = (typeof MOVING)[number];
export type SwitchPhase = MovingPhase | 'Served' | 'Failed' | 'Copying';

/** What a switch has to know of itself when another replica goes on with it. */
export interface SwitchRecord {
  /** The log of Annex went on above it; 0: not yet. */
  readonly first: Revision;
  /** Of the FlowSchema by which writes are counted, and since when (milliseconds since the epoch) every kube-apiserver does; '' : not yet. */
  readonly counted: string;
  readonly countedSince: number;
  /** Of the fence that held everywhere when the copy was complete. */
  readonly fence: string;
  /** When writes began to be refused, in milliseconds since the epoch; 0: they are not. */
  readonly fencedAt: number;
  /** How far the way back is; '' where the group is not on it. */
  readonly back: BackStep;
  /** Number of the back door that was opened last. */
  readonly door: number;
}

/** Copying: Annex takes writes, and the cluster's copy follows. Closing: nobody does. Routing: requests go to the cluster. */
type BackStep = '' | 'Copying' | 'Closing' | 'Routing';

export const NO_SWITCH: SwitchRecord = {
  ...{ first: 0, counted: '', countedSince: 0, fence: '', fencedAt: 0, back: '', door: 0 },
};

/** What is said of an Adoption: type, whether it holds, a reason other than the phase, and a message other than that of the step. */
export type Finding = readonly [type: string, holds: boolean, reason?: string, message?: string];

export interface JournalOptions {
  readonly client: LoopbackClient;
  readonly clock: Clock;
  readonly group: string;
  readonly uid: string;
}

/**
 * The Adoption's status, in which a switch is written down before each step. It only changes by compare-and-write: of two replicas that
 * both believe they lead, one fails at its next step.
 */
export class Journal {
  private adoption: KubeObject | undefined;

  constructor(private readonly options: JournalOptions) {}

  /** Reads it anew; throws where the Adoption is gone, or is another one. */
  async read(): Promise<void> {
    const { client, group, uid } = this.options;
    const found = await client.get('', group);
    if (found?.metadata.uid !== uid) throw new Error('the Adoption is gone');
    this.adoption = found;
  }

  get phase(): string {
    return phaseOf(this.known);
  }

  get isMoving(): boolean {
    return isMoving(this.known);
  }

  get record(): SwitchRecord {
    return recordOf(this.known);
  }

  /** What was written last. */
  get message(): string {
    return textOf(conditionsOf(this.known).find(({ type }) => type === 'Ready')?.['message']);
  }

  /** Whether the switch is still wanted. */
  get isWanted(): boolean {
    return isWanted(this.known);
  }

  /** Whether the group is to go back to the cluster, while Annex serves it or afterwards. */
  get isReturnWanted(): boolean {
    return isReturnWanted(this.known);
  }

  /** What is known of the types of the group. */
  get resources(): readonly JsonObject[] {
    return objectsOf(objectAt(this.known, 'status')?.['resources']);
  }

  get spec(): JsonObject {
    return objectAt(this.known, 'spec') ?? {};
  }

  /** Conflict (409) where somebody else has written since it was read, but for changes of the spec. */
  async write(
    phase: SwitchPhase,
    change: Partial<SwitchRecord>,
    message: string,
    findings: readonly Finding[] = [],
    /** Of the status, besides. */
    more: JsonObject = {},
  ): Promise<void> {
    const { client, clock } = this.options;
    const next = (adoption: KubeObject): KubeObject => ({
      ...deepCopy(adoption),
      status: {
        ...deepCopy(objectAt(adoption, 'status') ?? {}),
        ...more,
        phase,
        switch: { ...recordOf(adoption), ...change },
        conditions: conditions(
          adoption,
          phase,
          message,
          [...standing(phase, { ...recordOf(adoption), ...change }), ...findings],
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

  /** What keeps the switch from going on, for people. */
  async tell(message: string, more: JsonObject = {}): Promise<void> {
    if (!this.isMoving || message === this.message) return;
    await this.write(this.phase as SwitchPhase, {}, message, [], more);
  }

  /** Says more than the phase does, where that is news. Conflict (409) where somebody else has written since it was read. */
  async note(findings: readonly Finding[]): Promise<void> {
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

export const isMoving = (adoption: KubeObject): boolean => (MOVING as readonly string[]).includes(phaseOf(adoption));

export const isWanted = (adoption: KubeObject): boolean =>
  objectAt(adoption, 'spec')?.['servedBy'] === 'Annex' && !hasDeletionTimestamp(adoption);

export const isReturnWanted = (adoption: KubeObject): boolean =>
  objectAt(adoption, 'spec')?.['servedBy'] === 'Cluster' && !hasDeletionTimestamp(adoption);

/** Whether a switch failed, and nobody has changed the spec since. */
export const hasFailed = (adoption: KubeObject): boolean =>
  phaseOf(adoption) === 'Failed' &&
  conditionsOf(adoption).some(
    ({ type, observedGeneration }) => type === 'Switched' && observedGeneration === adoption.metadata.generation,
  );

export function recordOf(adoption: KubeObject): SwitchRecord {
  return { ...NO_SWITCH, ...(objectAt(objectAt(adoption, 'status'), 'switch') as Partial<SwitchRecord> | undefined) };
}

/** Whether Annex serves the group, and whether writes are taken, by whomever. */
function standing(phase: SwitchPhase, { back }: SwitchRecord): readonly Finding[] {
  const isServed = phase === 'Served' || (phase === 'Returning' && (back === 'Copying' || back === 'Closing'));
  const takesWrites = phase !== 'Fencing' && phase !== 'Switching' && (phase !== 'Returning' || back === 'Copying');
  return [
    ['Switched', isServed],
    ['Ready', takesWrites],
  ];
}

function conditions(
  adoption: KubeObject,
  phase: string,
  message: string,
  findings: readonly Finding[],
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
