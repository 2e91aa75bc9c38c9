import { objectAt } from '../apimachinery/json/json.js';
import type { KubeObject } from '../apimachinery/meta/meta.js';
import type { LoopbackClient, LoopbackClients } from '../registry/rest/loopback-client.js';
import type { Clock } from '../util/clock.js';
import { WorkQueue } from '../util/work-queue.js';
import { swallowIgnorableErrors } from './errors.js';
import { splitKey } from '../registry/generic/store/resource-store.js';
import { ObjectCache } from './object-cache.js';

export interface NamespacedDefaultOptions {
  readonly clients: LoopbackClients;
  readonly clock: Clock;
  /** The resource and name of the object that every active namespace has. */
  readonly resource: string;
  readonly name: string;
  /** The name of the work queue in metrics. */
  readonly queue: string;
  /** Returns a new object. */
  make(namespace: string): KubeObject;
  /** Reports whether an existing object may stay as it is. */
  accepts(object: KubeObject): boolean;
  /** Repairs an existing object in place. */
  repair(object: KubeObject): void;
  readonly onError: (namespace: string, error: unknown) => void;
}

/** Maintains one object of a fixed name in every active namespace, such as the default service account or the root certificates. */
export class NamespacedDefault {
  private readonly queue: WorkQueue;
  private readonly namespaces: ObjectCache<true>;
  /** True for objects that `accepts` approves. */
  private readonly objects: ObjectCache<boolean>;
  private readonly client: LoopbackClient;

  constructor(private readonly options: NamespacedDefaultOptions) {
    const { clock, clients, name, resource } = options;
    this.client = clients.for({ group: '', resource });
    this.queue = new WorkQueue({
      name: options.queue,
      clock,
      reconcile: (namespace) => this.sync(namespace),
      onError: options.onError,
    });
    this.namespaces = new ObjectCache<true>({
      keep: (namespace) => (objectAt(namespace, 'status')?.['phase'] === 'Active' ? true : undefined),
      changed: (key) => this.queue.add(splitKey(key).name),
    });
    this.objects = new ObjectCache<boolean>({
      only: name,
      keep: (object) => (object.metadata.name === name ? options.accepts(object) : undefined),
      changed: (key) => this.queue.add(splitKey(key).namespace),
    });
  }

  start(signal: AbortSignal): void {
    this.objects.start(this.client, signal);
    this.namespaces.start(this.options.clients.for({ group: '', resource: 'namespaces' }), signal);
    this.queue.stopOn(signal);
  }

  private async sync(namespace: string): Promise<void> {
    await Promise.all([this.namespaces.synced, this.objects.synced]);
    const { name } = this.options;
    if (this.namespaces.get('', namespace) === undefined || this.objects.get(namespace, name) === true) return;
    await swallowIgnorableErrors(async () => {
      const existing = await this.client.get(namespace, name);
      if (existing === undefined) await this.client.create(this.options.make(namespace));
      else if (!this.options.accepts(existing)) {
        this.options.repair(existing);
        await this.client.update(existing);
      }
    });
  }
}
