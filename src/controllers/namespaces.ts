import { deepCopy, deepEqual, type JsonObject, objectAt } from '../apimachinery/json/json.js';
import { formatTime, hasDeletionTimestamp, type KubeObject, nameOf } from '../apimachinery/meta/meta.js';
import type { ApiRegistry, StoredApi } from '../registry/generic/store/api-registry.js';
import type { LoopbackClient } from '../registry/rest/loopback-client.js';
import type { CachedList } from '../storage/cacher/interfaces.js';
import { EVERYTHING } from '../apimachinery/selectors/selection-predicate.js';
import type { Clock } from '../util/clock.js';
import { WorkQueue } from '../util/work-queue.js';
import { messageOf } from '../util/error-message.js';
import { exceptConflicts } from './errors.js';
import { storedTypes } from './type-watches.js';

const RETRY_MILLIS = 500;
const FINALIZER = 'kubernetes';

export interface NamespaceControllerOptions {
  readonly client: LoopbackClient;
  readonly registry: ApiRegistry;
  readonly clock: Clock;
  /** Deletes all objects of a type in a namespace. */
  deleteAll(api: StoredApi, namespace: string): Promise<void>;
  /** Writes spec.finalizers through the finalize subresource. */
  finalize(namespace: KubeObject): Promise<unknown>;
  readonly onError: (name: string, error: unknown) => void;
}

/** The contents left in a namespace after everything was deleted. */
interface Remainder {
  readonly resources: Map<string, number>;
  readonly finalizers: Map<string, number>;
  readonly errors: string[];
}

/** Empties namespaces that are being deleted, reports in their conditions what blocks them, and finalizes them once they are empty. */
export class NamespaceController {
  private readonly queue: WorkQueue;

  constructor(private readonly options: NamespaceControllerOptions) {
    this.queue = new WorkQueue({
      name: 'namespace',
      clock: options.clock,
      reconcile: (name) => this.sync(name),
      workers: 10,
      onError: exceptConflicts(options.onError),
    });
  }

  start(signal: AbortSignal): void {
    const upsert = (namespace: KubeObject): void => {
      if (hasDeletionTimestamp(namespace)) this.queue.add(nameOf(namespace));
    };
    this.options.client.watch({ upsert }, signal);
    this.queue.stopOn(signal);
  }

  private async sync(name: string): Promise<void> {
    let namespace = await this.options.client.get('', name);
    if (namespace === undefined || !hasDeletionTimestamp(namespace)) return;
    namespace = await this.setTerminating(namespace);
    const finalizers = objectAt(namespace, 'spec')?.['finalizers'];
    if (!Array.isArray(finalizers) || !finalizers.includes(FINALIZER)) return;
    const remainder = await this.empty(name);
    namespace = await this.updateConditions(namespace, remainder);
    if (remainder.resources.size > 0 || remainder.errors.length > 0) {
      this.queue.addAfter(name, RETRY_MILLIS);
      return;
    }
    const next = deepCopy(namespace);
    next['spec'] = { ...objectAt(next, 'spec'), finalizers: finalizers.filter((finalizer) => finalizer !== FINALIZER) };
    await this.options.finalize(next);
  }

  private async setTerminating(namespace: KubeObject): Promise<KubeObject> {
    if (objectAt(namespace, 'status')?.['phase'] === 'Terminating') return namespace;
    const next = deepCopy(namespace);
    next['status'] = { ...objectAt(next, 'status'), phase: 'Terminating' };
    return this.options.client.updateStatus(next);
  }

  private async empty(namespace: string): Promise<Remainder> {
    const remainder: Remainder = { resources: new Map(), finalizers: new Map(), errors: [] };
    for (const api of storedTypes(this.options.registry).values()) {
      if (!api.served.type.namespaced) continue;
      try {
        const contents = await contentsOf(api, namespace);
        if (contents.length === 0) continue;
        // Objects that wait for their finalizers are not deleted again.
        if (someAreAlive(contents)) await this.options.deleteAll(api, namespace);
        count(api, await contentsOf(api, namespace), remainder);
      } catch (error) {
        remainder.errors.push(messageOf(error));
      }
    }
    return remainder;
  }

  private async updateConditions(namespace: KubeObject, remainder: Remainder): Promise<KubeObject> {
    const next = deepCopy(namespace);
    const status = objectAt(next, 'status') ?? {};
    const before = Array.isArray(status['conditions']) ? (status['conditions'] as JsonObject[]) : [];
    status['conditions'] = mergeConditions(before, describe(remainder), this.options.clock.now());
    next['status'] = status;
    if (deepEqual(next, namespace)) return namespace;
    return this.options.client.updateStatus(next);
  }
}

/** Reads the current state, not a cache that is loading or lagging: nothing may be left behind in a deleted namespace. */
function contentsOf(api: StoredApi, namespace: string): Promise<CachedList> {
  const options = { prefix: `${namespace}/`, from: '', limit: 0, predicate: EVERYTHING };
  return api.store.cache.list({ mode: 'most-recent' }, options);
}

function someAreAlive(contents: CachedList): boolean {
  for (const item of contents.items()) if (!hasDeletionTimestamp(item.decode() as KubeObject)) return true;
  return false;
}

function count(api: StoredApi, contents: CachedList, remainder: Remainder): void {
  const { group, resource } = api.served.groupResource;
  const add = (to: Map<string, number>, key: string): void => void to.set(key, (to.get(key) ?? 0) + 1);
  for (const item of contents.items()) {
    const object = item.decode() as KubeObject;
    add(remainder.resources, `${resource}.${group}`);
    for (const finalizer of object.metadata.finalizers ?? []) add(remainder.finalizers, finalizer);
  }
}

interface Finding {
  readonly type: string;
  readonly status: 'True' | 'False';
  readonly reason: string;
  readonly message: string;
}

/** Returns the five conditions of a terminating namespace, in the order and wording of kube-controller-manager. */
function describe(remainder: Remainder): Finding[] {
  const list = (counts: ReadonlyMap<string, number>, what: (key: string, n: number) => string): string =>
    [...counts]
      .map(([key, n]) => what(key, n))
      .sort()
      .join(', ');
  const ok = (type: string, reason: string, message: string): Finding => ({ type, status: 'False', reason, message });
  const failed = remainder.errors.sort().join(', ');
  const resources = list(remainder.resources, (key, n) => `${key} has ${n} resource instances`);
  const finalizers = list(remainder.finalizers, (key, n) => `${key} in ${n} resource instances`);
  return [
    ok('NamespaceDeletionDiscoveryFailure', 'ResourcesDiscovered', 'All resources successfully discovered'),
    ok(
      'NamespaceDeletionGroupVersionParsingFailure',
      'ParsedGroupVersions',
      'All legacy kube types successfully parsed',
    ),
    failed === ''
      ? ok(
          'NamespaceDeletionContentFailure',
          'ContentDeleted',
          'All content successfully deleted, may be waiting on finalization',
        )
      : {
          type: 'NamespaceDeletionContentFailure',
          status: 'True',
          reason: 'ContentDeletionFailed',
          message: `Failed to delete all resource types, ${remainder.errors.length} remaining: ${failed}`,
        },
    resources === ''
      ? ok('NamespaceContentRemaining', 'ContentRemoved', 'All content successfully removed')
      : {
          type: 'NamespaceContentRemaining',
          status: 'True',
          reason: 'SomeResourcesRemain',
          message: `Some resources are remaining: ${resources}`,
        },
    finalizers === ''
      ? ok('NamespaceFinalizersRemaining', 'ContentHasNoFinalizers', 'All content-preserving finalizers finished')
      : {
          type: 'NamespaceFinalizersRemaining',
          status: 'True',
          reason: 'SomeFinalizersRemain',
          message: `Some content in the namespace has finalizers remaining: ${finalizers}`,
        },
  ];
}

function mergeConditions(before: readonly JsonObject[], findings: readonly Finding[], now: number): JsonObject[] {
  const merged = before.map((condition) => ({ ...condition }));
  for (const finding of findings) {
    const old = merged.find((condition) => condition['type'] === finding.type);
    if (old === undefined) merged.push({ ...finding, lastTransitionTime: formatTime(now) });
    else {
      if (old['status'] !== finding.status) old['lastTransitionTime'] = formatTime(now);
      Object.assign(old, finding);
    }
  }
  return merged;
}
