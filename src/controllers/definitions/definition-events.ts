import { conditionsOf } from '../../apimachinery/meta/conditions.js';
import { createHash } from 'node:crypto';
import { type JsonObject, stringAt } from '../../apimachinery/json/json.js';
import { formatTime, hasDeletionTimestamp, type KubeObject } from '../../apimachinery/meta/meta.js';
import type { LoopbackClient } from '../../registry/rest/loopback-client.js';
import type { Clock } from '../../util/clock.js';
import { WorkQueue } from '../../util/work-queue.js';

/** The status in which a condition is bad news. */
const BAD: Readonly<Record<string, string>> = {
  KubernetesAPIApprovalPolicyConformant: 'False',
  NamesAccepted: 'False',
  NonStructuralSchema: 'True',
  Registered: 'False',
};
const COMPONENT = 'annex';
/** Events of objects without a namespace are in this one. */
const NAMESPACE = 'default';
const MAX_MESSAGE = 1024;
const MAX_NAME = 230;

export interface DefinitionEventsOptions {
  readonly client: Pick<LoopbackClient, 'watch'>;
  readonly clock: Clock;
  /** Creates the event; one that exists already is no error. */
  record(event: KubeObject): Promise<void>;
  onError(name: string, error: unknown): void;
}

/**
 * Tells people by an event when a condition of a definition turns bad. The event's name follows from the condition, so that several
 * replicas, and one that starts anew, create it once.
 */
export class DefinitionEvents {
  private readonly definitions = new Map<string, KubeObject>();
  /** By the definition's name: the names of its events. */
  private readonly told = new Map<string, ReadonlySet<string>>();
  private readonly queue: WorkQueue;

  constructor(private readonly options: DefinitionEventsOptions) {
    this.queue = new WorkQueue({
      name: 'definition_events',
      clock: options.clock,
      work: (name) => this.sync(name),
      workers: 1,
      onError: (name, error) => {
        options.onError(name, error);
      },
    });
  }

  start(signal: AbortSignal): void {
    const nameOf = ({ metadata }: KubeObject): string => metadata.name ?? '';
    this.options.client.watch(
      {
        upsert: (definition) => {
          this.definitions.set(nameOf(definition), definition);
          this.queue.add(nameOf(definition));
        },
        delete: (definition) => {
          this.definitions.delete(nameOf(definition));
          this.told.delete(nameOf(definition));
        },
        reset: () => {
          this.definitions.clear();
        },
        synced: () => undefined,
      },
      signal,
    );
    signal.addEventListener('abort', () => void this.queue.stop(), { once: true });
  }

  private async sync(name: string): Promise<void> {
    const definition = this.definitions.get(name);
    if (definition === undefined || hasDeletionTimestamp(definition)) return;
    const events = badConditions(definition).map((condition) =>
      eventOf(definition, condition, this.options.clock.now()),
    );
    const before = this.told.get(name);
    for (const event of events) {
      if (before?.has(event.metadata.name ?? '') !== true) await this.options.record(event);
    }
    this.told.set(name, new Set(events.map(({ metadata }) => metadata.name ?? '')));
  }
}

const badConditions = (definition: KubeObject): JsonObject[] =>
  conditionsOf(definition).filter((condition) => BAD[stringAt(condition, 'type') ?? ''] === condition['status']);

function eventOf(definition: KubeObject, condition: JsonObject, now: number): KubeObject {
  const { name = '', uid = '', resourceVersion = '' } = definition.metadata;
  const { apiVersion = '', kind = '' } = definition;
  const facts = [uid, condition['type'], condition['reason'], condition['message'], condition['lastTransitionTime']];
  const hash = createHash('sha256').update(JSON.stringify(facts)).digest('hex').slice(0, 16);
  const time = formatTime(now);
  return {
    apiVersion: 'v1',
    kind: 'Event',
    metadata: { name: `${name.slice(0, MAX_NAME).replace(/[.-]+$/, '')}.${hash}`, namespace: NAMESPACE },
    involvedObject: { apiVersion, kind, name, uid, resourceVersion },
    type: 'Warning',
    reason: stringAt(condition, 'reason') ?? '',
    message: (stringAt(condition, 'message') ?? '').slice(0, MAX_MESSAGE),
    source: { component: COMPONENT },
    reportingComponent: COMPONENT,
    firstTimestamp: time,
    lastTimestamp: time,
    count: 1,
  };
}
