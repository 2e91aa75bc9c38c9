import { type JsonObject, deepEqual, objectAt, textAt } from '../../apimachinery/json/json.js';
import { conditionsOf, transitionTime } from '../../apimachinery/meta/conditions.js';
import { formatTime, hasDeletionTimestamp, type KubeObject, nameOf } from '../../apimachinery/meta/meta.js';
import { Quantity } from '../../apimachinery/meta/quantity.js';
import { parseGoDuration } from '../../go/duration.js';
import type { LoopbackClient } from '../../registry/rest/loopback-client.js';
import { isInternalType, samePolicy } from '../../storage/kept/policies.js';
import type { KeptHistory, KeptPolicy, KeptUsage, PolicyState } from '../../storage/kept/interfaces.js';
import type { Clock } from '../../util/clock.js';
import { WorkQueue } from '../../util/work-queue.js';

/** How often the status follows what is kept. */
const LOOK_MILLIS = 60_000;

export interface RetentionControllerOptions {
  readonly retentions: LoopbackClient;
  readonly kept: KeptHistory;
  readonly clock: Clock;
  readonly onError: (name: string, error: unknown) => void;
}

/** Makes Retentions the policies of their types in the store, and reports what is kept. Runs on one server at a time. */
export class RetentionController {
  private readonly queue: WorkQueue;

  constructor(private readonly options: RetentionControllerOptions) {
    this.queue = new WorkQueue({
      name: 'retentions',
      clock: options.clock,
      reconcile: (name) => this.sync(name),
      onError: options.onError,
    });
  }

  start(signal: AbortSignal): void {
    this.options.retentions.watch(
      {
        upsert: (retention) => this.queue.add(nameOf(retention)),
        delete: (retention) => this.queue.add(nameOf(retention)),
        // Types whose Retention was deleted while nobody looked.
        synced: () => void this.addTypes().catch((error: unknown) => this.options.onError('types', error)),
      },
      signal,
    );
    this.queue.stopOn(signal);
  }

  private async addTypes(): Promise<void> {
    for (const type of await this.options.kept.types()) if (!isInternalType(type)) this.queue.add(type);
  }

  /** A Retention has the name by which the store knows its type. */
  private async sync(name: string): Promise<void> {
    const { retentions, kept, clock } = this.options;
    const retention = await retentions.get('', name);
    if (retention === undefined || hasDeletionTimestamp(retention)) {
      if (!(await kept.policy(name)).isDefault) await kept.setPolicy(name, undefined);
      return;
    }
    const wanted = policyOf(retention);
    const now = await kept.policy(name);
    if (now.isDefault || !samePolicy(now.policy, wanted)) await kept.setPolicy(name, wanted);
    const status = statusOf(retention, await kept.usage(name), await kept.policy(name), clock.now());
    if (!deepEqual(objectAt(retention, 'status') ?? {}, status))
      await retentions.updateStatus({ ...retention, metadata: { ...retention.metadata }, status });
    this.queue.addAfter(name, LOOK_MILLIS);
  }
}

/** Returns the policy that a valid Retention describes. */
function policyOf(retention: KubeObject): KeptPolicy {
  const spec = objectAt(retention, 'spec');
  const { maxRevisionsPerObject, maxBytes } = spec ?? {};
  return {
    keepDeletedFor: parseGoDuration(textAt(spec, 'keepDeletedFor')),
    keepRevisionsFor: parseGoDuration(textAt(spec, 'keepRevisionsFor')),
    maxRevisionsPerObject: typeof maxRevisionsPerObject === 'number' ? maxRevisionsPerObject : 0,
    maxBytes: typeof maxBytes === 'string' ? bytesOf(Quantity.parse(maxBytes)) : Number(maxBytes ?? 0),
  };
}

const bytesOf = ({ unscaled, exponent }: Quantity): number => Math.ceil(Number(unscaled) * 10 ** exponent);

function statusOf(
  retention: KubeObject,
  { revisions, deleted, pending, cutAt }: KeptUsage,
  { earlier }: PolicyState,
  now: number,
): JsonObject {
  const condition = (type: string, isTrue: boolean, reason: string, message: string): JsonObject => {
    const before = conditionsOf(retention).find((one) => one['type'] === type);
    const status = isTrue ? 'True' : 'False';
    return {
      type,
      status,
      reason,
      message,
      lastTransitionTime: transitionTime(before, status, now),
      observedGeneration: retention.metadata.generation ?? 0,
    };
  };
  return {
    revisions: { count: revisions.count, bytes: revisions.bytes },
    deleted: {
      count: deleted.count,
      bytes: deleted.bytes,
      ...(deleted.oldest !== undefined && { oldest: formatTime(deleted.oldest) }),
    },
    ...(earlier !== undefined && {
      pendingPurge: { objects: pending, at: formatTime(earlier.until) },
    }),
    conditions: [
      condition('Ready', true, 'InEffect', 'the policy is in effect'),
      cutAt === undefined
        ? condition('WithinBytes', true, 'WithinBytes', 'states go when their time has passed')
        : condition(
            'WithinBytes',
            false,
            'BytesExceeded',
            `states have gone before their time because of maxBytes, last at ${formatTime(cutAt)}`,
          ),
    ],
  };
}
