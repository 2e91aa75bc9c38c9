import { parseJson } from '../apimachinery/json/decode.js';
import { isObject, textOf } from '../apimachinery/json/json.js';
import type { Presence } from '../storage/interfaces.js';
import { type Clock, sleep } from '../util/clock.js';
import { waitUntil } from './wait.js';

const LOOK_MILLIS = 200;
/** A third of the time for which a report is valid. */
const REPEAT_MILLIS = 5_000;
const RETRY_MILLIS = 1_000;
const POLL_MILLIS = 100;

/** The adoption stages of the types that a replica serves, by the definition's name. */
export type Stages = Readonly<Record<string, string>>;

export interface ReplicaStagesOptions {
  readonly presence: Presence;
  readonly clock: Clock;
  /** Returns the stages of this replica. */
  readonly stages: () => Stages;
  readonly onError: (error: unknown) => void;
}

/**
 * Reports in the store how far each replica is with the definitions of adoptions: whenever that changes, and every five seconds. A replica
 * whose report is older than 15 s does not reach the store and is not ready, so it is not waited for.
 */
export class ReplicaStages {
  private lastReport = '';
  private lastReportAt = -Infinity;

  constructor(private readonly options: ReplicaStagesOptions) {}

  /** Resolves when this replica has made its first report; it continues until the signal aborts. */
  async start(signal: AbortSignal): Promise<void> {
    while (!signal.aborted && !(await this.report())) await sleep(this.options.clock, RETRY_MILLIS, signal);
    void this.keepReporting(signal);
  }

  /** Waits until the stages of every replica fit. Throws on timeout. */
  async everywhere(
    what: string,
    fits: (stages: Stages) => boolean,
    millis: number,
    signal: AbortSignal,
    /** Replicas that have been silent for longer are not waited for; by default, those that the store considers gone (15 s). */
    silentMillis?: number,
  ): Promise<void> {
    const look = async (): Promise<string> => {
      const all = (await this.options.presence.all(silentMillis)).map(stagesOf);
      const behind = all.filter((stages) => !fits(stages)).length;
      if (all.length > 0 && behind === 0) return '';
      return `${what}: ${behind} of ${all.length} replicas of Annex have not reached this step`;
    };
    await waitUntil(look, { clock: this.options.clock, millis, pollMillis: POLL_MILLIS }, signal);
  }

  /** Waits until no replica is silent that was present within `silentMillis`: it may resume what it was about to do. Throws on timeout. */
  async settled(silentMillis: number, millis: number, signal: AbortSignal): Promise<void> {
    const { clock, presence } = this.options;
    const look = async (): Promise<string> => {
      const silent = (await presence.all(silentMillis)).length - (await presence.all()).length;
      return silent <= 0 ? '' : `${silent} replicas of Annex have stopped reporting`;
    };
    await waitUntil(look, { clock, millis, pollMillis: POLL_MILLIS }, signal);
  }

  private async keepReporting(signal: AbortSignal): Promise<void> {
    const { clock, presence, onError } = this.options;
    while (!signal.aborted) {
      const isOld = clock.monotonic() - this.lastReportAt >= REPEAT_MILLIS;
      const isDone = !isOld && encodeStages(this.options.stages()) === this.lastReport;
      await sleep(clock, isDone || (await this.report()) ? LOOK_MILLIS : RETRY_MILLIS, signal);
    }
    await presence.leave().catch(onError);
  }

  private async report(): Promise<boolean> {
    const { clock, presence, onError, stages } = this.options;
    const text = encodeStages(stages());
    const at = clock.monotonic();
    try {
      await presence.publish(text);
      this.lastReport = text;
      this.lastReportAt = at;
      return true;
    } catch (error) {
      onError(error);
      return false;
    }
  }
}

const encodeStages = (stages: Stages): string => JSON.stringify(stages);

function stagesOf(text: string): Stages {
  const found = parseJson(text);
  if (!isObject(found)) return {};
  return Object.fromEntries(Object.entries(found).map(([name, stage]) => [name, textOf(stage)]));
}
