import { isConditionTrue } from '../../apimachinery/meta/conditions.js';
import { type JsonObject, objectAt, objectsOf, stringAt, textAt } from '../../apimachinery/json/json.js';
import { ApiError } from '../../apimachinery/meta/errors.js';
import { formatTime, hasDeletionTimestamp, type KubeObject, nameOf } from '../../apimachinery/meta/meta.js';
import type { AdmissionChain } from '../../admission/interfaces.js';
import type { Authorizer } from '../../authorization/authorizer/interfaces.js';
import type { LoopbackClient } from '../../registry/rest/loopback-client.js';
import type { Clock } from '../../util/clock.js';
import { WorkQueue } from '../../util/work-queue.js';
import { RestoreFailed } from './failed.js';
import type { Report } from './report.js';
import type { Restorer } from './restorer.js';
import { creatorOf, readSpec } from './spec.js';
import { RestoreWriter } from './writer.js';

/** How long a restore that has ended is kept. */
const KEEP_MILLIS = 3_600_000;
/** How often the status of a running restore is written. */
const PROGRESS_MILLIS = 1_000;

export interface RestoreControllerOptions {
  readonly restores: LoopbackClient;
  readonly restorer: Restorer;
  readonly authorizer: Authorizer;
  readonly admission: AdmissionChain;
  readonly clock: Clock;
  readonly onError: (name: string, error: unknown) => void;
}

/** Carries out ObjectRestores, one after the other, and deletes those that ended an hour ago. Runs on one server at a time. */
export class RestoreController {
  private readonly queue: WorkQueue;

  constructor(private readonly options: RestoreControllerOptions) {
    this.queue = new WorkQueue({
      name: 'object_restores',
      clock: options.clock,
      reconcile: (name) => this.sync(name),
      workers: 2,
      onError: options.onError,
    });
  }

  private signal = new AbortController().signal;

  start(signal: AbortSignal): void {
    this.signal = signal;
    this.options.restores.watch({ upsert: (restore) => this.queue.add(nameOf(restore)) }, signal);
    this.queue.stopOn(signal);
  }

  private async sync(name: string): Promise<void> {
    const { restores, clock } = this.options;
    const restore = await restores.get('', name);
    if (restore === undefined || hasDeletionTimestamp(restore)) return;
    const ended = endedAt(restore);
    if (ended === undefined) {
      await this.run(restore);
      return;
    }
    const left = ended + KEEP_MILLIS - clock.now();
    if (left > 0) {
      this.queue.addAfter(name, left);
      return;
    }
    const { uid = '' } = restore.metadata;
    await restores.delete('', name, { uid }).catch(ignoreGone);
  }

  private async run(restore: KubeObject): Promise<void> {
    const { restorer, clock } = this.options;
    const before = textAt(objectAt(restore, 'status'), 'phase');
    if (before !== 'Running') await this.report(restore, { phase: 'Running' });
    let last = clock.monotonic();
    let writing: Promise<void> = Promise.resolve();
    const progress = (report: Report): void => {
      const now = clock.monotonic();
      if (now - last < PROGRESS_MILLIS) return;
      last = now;
      const counts = { phase: 'Running', ...report.status() };
      writing = writing.then(() => this.report(restore, counts)).catch(() => undefined);
    };
    let end: JsonObject;
    try {
      const report = await restorer.run({
        spec: readSpec(restore),
        id: restore.metadata.uid ?? '',
        createdAt: Date.parse(restore.metadata.creationTimestamp ?? ''),
        resumes: before === 'Running',
        writer: this.writerFor(restore),
        signal: this.signal,
        progress,
      });
      end = { phase: 'Complete', ...report.status(), conditions: [completed(report, clock.now())] };
    } catch (error) {
      if (!(error instanceof RestoreFailed)) throw error;
      end = { phase: 'Failed', conditions: [condition('Failed', error.reason, error.message, clock.now())] };
    }
    await writing;
    await this.report(restore, end);
  }

  private writerFor(restore: KubeObject): RestoreWriter {
    const { authorizer, admission, clock } = this.options;
    const user = creatorOf(restore);
    if (user === undefined) throw new RestoreFailed('CreatorUnknown', 'nobody recorded who created the restore');
    const { dryRun, force, withoutFinalizers } = readSpec(restore);
    const id = restore.metadata.uid ?? '';
    return new RestoreWriter({ user, authorizer, admission, clock, id, dryRun, force, withoutFinalizers });
  }

  private async report(restore: KubeObject, status: JsonObject): Promise<void> {
    const { restores } = this.options;
    const current = await restores.get('', nameOf(restore));
    if (current === undefined || current.metadata.uid !== restore.metadata.uid) return;
    await restores.updateStatus({ ...current, metadata: { ...current.metadata }, status });
  }
}

function completed({ refused, conflicts, conflict }: Report, now: number): JsonObject {
  if (refused === 0 && conflicts === 0) return condition('Complete', 'Restored', 'everything was brought back', now);
  const first = conflict === '' ? '' : `; first conflict: ${conflict}`;
  const message = `${String(refused)} refused, ${String(conflicts)} conflicts${first}`;
  return condition('Complete', 'RestoredInPart', message, now);
}

const condition = (type: string, reason: string, message: string, now: number): JsonObject => ({
  type,
  status: 'True',
  reason,
  message: message.slice(0, 32_768),
  lastTransitionTime: formatTime(now),
});

/** Returns when a restore ended; undefined if it has not. */
function endedAt(restore: KubeObject): number | undefined {
  if (!isConditionTrue(restore, 'Complete') && !isConditionTrue(restore, 'Failed')) return undefined;
  const times = objectsOf(objectAt(restore, 'status')?.['conditions']).map((one) =>
    Date.parse(stringAt(one, 'lastTransitionTime') ?? ''),
  );
  return Math.max(...times);
}

function ignoreGone(error: unknown): void {
  if (!(error instanceof ApiError && (error.code === 404 || error.code === 409))) throw error;
}
