import { createHash } from 'node:crypto';
import type { JsonValue } from '../apimachinery/json/json.js';
import { formatTime, hasDeletionTimestamp, type KubeObject, nameOf } from '../apimachinery/meta/meta.js';
import type { LoopbackClient } from '../registry/rest/loopback-client.js';
import type { Clock } from '../util/clock.js';
import { WorkQueue } from '../util/work-queue.js';

const COMPONENT = 'annex';
/** The namespace of Events about cluster-scoped objects. */
const NAMESPACE = 'default';
const MAX_MESSAGE = 1024;
const MAX_NAME = 230;

/** Something that an Event reports. */
export interface EventContent {
  readonly type: 'Normal' | 'Warning';
  readonly reason: string;
  readonly message: string;
  /** Identifies the news; each is reported once. */
  readonly facts: readonly (JsonValue | undefined)[];
}

export interface ObjectEventsOptions {
  /** The name of the work queue in metrics. */
  readonly name: string;
  /** Returns the news about an object in its current state. */
  readonly eventsFor: (object: KubeObject) => readonly EventContent[];
  readonly client: Pick<LoopbackClient, 'watch'>;
  readonly clock: Clock;
  /** Creates the Event; one that already exists is not an error. */
  record(event: KubeObject): Promise<void>;
  readonly onError: (name: string, error: unknown) => void;
}

/**
 * Publishes Events about the news of objects. An Event's name is derived from the facts, so that several replicas, and one that restarts,
 * create it only once.
 */
export class ObjectEvents {
  private readonly objects = new Map<string, KubeObject>();
  /** The names of the Events already recorded, by object name. */
  private readonly recordedEvents = new Map<string, ReadonlySet<string>>();
  private readonly queue: WorkQueue;

  constructor(private readonly options: ObjectEventsOptions) {
    this.queue = new WorkQueue({
      name: options.name,
      clock: options.clock,
      reconcile: (name) => this.sync(name),
      workers: 1,
      onError: options.onError,
    });
  }

  start(signal: AbortSignal): void {
    this.options.client.watch(
      {
        upsert: (object) => {
          this.objects.set(nameOf(object), object);
          this.queue.add(nameOf(object));
        },
        delete: (object) => {
          this.objects.delete(nameOf(object));
          this.recordedEvents.delete(nameOf(object));
        },
        reset: () => this.objects.clear(),
      },
      signal,
    );
    this.queue.stopOn(signal);
  }

  private async sync(name: string): Promise<void> {
    const object = this.objects.get(name);
    if (object === undefined || hasDeletionTimestamp(object)) return;
    const events = this.options.eventsFor(object).map((one) => eventOf(object, one, this.options.clock.now()));
    const before = this.recordedEvents.get(name);
    for (const event of events) {
      if (before?.has(nameOf(event)) !== true) await this.options.record(event);
    }
    this.recordedEvents.set(name, new Set(events.map(nameOf)));
  }
}

function eventOf(object: KubeObject, { type, reason, message, facts }: EventContent, now: number): KubeObject {
  const { name = '', uid = '', resourceVersion = '' } = object.metadata;
  const { apiVersion = '', kind = '' } = object;
  const hash = createHash('sha256')
    .update(JSON.stringify([uid, ...facts]))
    .digest('hex')
    .slice(0, 16);
  const time = formatTime(now);
  return {
    apiVersion: 'v1',
    kind: 'Event',
    metadata: { name: `${name.slice(0, MAX_NAME).replace(/[.-]+$/, '')}.${hash}`, namespace: NAMESPACE },
    involvedObject: { apiVersion, kind, name, uid, resourceVersion },
    type,
    reason,
    message: message.slice(0, MAX_MESSAGE),
    source: { component: COMPONENT },
    reportingComponent: COMPONENT,
    firstTimestamp: time,
    lastTimestamp: time,
    count: 1,
  };
}
