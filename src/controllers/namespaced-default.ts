import { objectAt } from '../apimachinery/json/json.js';
import type { KubeObject } from '../apimachinery/meta/meta.js';
import type { LoopbackClient, LoopbackClients } from '../registry/rest/loopback-client.js';
import type { Clock } from '../util/clock.js';
import { WorkQueue } from '../util/work-queue.js';
import { unlessOvertaken } from './errors.js';
import { ObjectCache, splitKey } from './garbage-collector/object-cache.js';

export interface NamespacedDefaultOptions {
  readonly clients: LoopbackClients;
  readonly clock: Clock;
  /** Resource and name of the object that every active namespace has. */
  readonly resource: string;
  readonly name: string;
  /** Name of the work queue in metrics. */
  readonly queue: string;
  /** A new one. */
  make(namespace: string): KubeObject;
  /** Whether an existing one may stay as it is. */
  accepts(object: KubeObject): boolean;
  /** What is put right in an existing one; it may be changed. */
  mend(object: KubeObject): void;
  onError(namespace: string, error: unknown): void;
}

/** Keeps an object of one name in every active namespace: the default service account, the root certificates. */
export class NamespacedDefault {
  private readonly queue: WorkQueue;
  private readonly namespaces: ObjectCache<true>;
  /** Whether the object is in order. */
  private readonly objects: ObjectCache<boolean>;
  private readonly client: LoopbackClient;

  constructor(private readonly options: NamespacedDefaultOptions) {
    const { clock, clients, name, resource } = options;
    this.client = clients.for({ group: '', resource });
    this.queue = new WorkQueue({
      name: options.queue,
      clock,
      work: (namespace) => this.sync(namespace),
      onError: (namespace, error) => {
        options.onError(namespace, error);
      },
    });
    this.namespaces = new ObjectCache<true>({
      keep: (namespace) => (objectAt(namespace, 'status')?.['phase'] === 'Active' ? true : undefined),
      changed: (key) => {
        this.queue.add(splitKey(key)[1]);
      },
    });
    this.objects = new ObjectCache<boolean>({
      only: name,
      keep: (object) => (object.metadata.name === name ? options.accepts(object) : undefined),
      changed: (key) => {
        this.queue.add(splitKey(key)[0]);
      },
    });
  }

  start(signal: AbortSignal): void {
    this.objects.start(this.client, signal);
    this.namespaces.start(this.options.clients.for({ group: '', resource: 'namespaces' }), signal);
    signal.addEventListener('abort', () => void this.queue.stop(), { once: true });
  }

  private async sync(namespace: string): Promise<void> {
    await Promise.all([this.namespaces.synced, this.objects.synced]);
    const { name } = this.options;
    if (this.namespaces.get('', namespace) === undefined || this.objects.get(namespace, name) === true) return;
    await unlessOvertaken(async () => {
      const existing = await this.client.get(namespace, name);
      if (existing === undefined) await this.client.create(this.options.make(namespace));
      else if (!this.options.accepts(existing)) {
        this.options.mend(existing);
        await this.client.update(existing);
      }
    });
  }
}
