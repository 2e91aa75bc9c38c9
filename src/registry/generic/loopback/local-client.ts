import { randomUUID } from 'node:crypto';
import type { AdmissionChain } from '../../../admission/interfaces.js';
import { ApiError, newForbidden } from '../../../apimachinery/meta/errors.js';
import { deepCopy, type JsonObject } from '../../../apimachinery/json/json.js';
import { type GroupResource, type KubeObject, quote } from '../../../apimachinery/meta/meta.js';
import { type UserInfo, LOOPBACK_USER } from '../../../authentication/user/user.js';
import type { Authorizer } from '../../../authorization/authorizer/interfaces.js';
import type { RequestContext } from '../../../request/context.js';
import { EVERYTHING } from '../../../apimachinery/selectors/selection-predicate.js';
import { type Clock, sleep } from '../../../util/clock.js';
import type { ApiRegistry, StoredApi } from '../store/api-registry.js';
import type {
  DeletePreconditions,
  DeletionPolicy,
  LoopbackClient,
  LoopbackClients,
  ResourceEventHandler,
} from '../../rest/loopback-client.js';
import type { ServedVersion } from '../../rest/served.js';
import type { DeleteOptions, ListOptions, UpdateRequest, WriteResult } from '../../rest/storage.js';
import { OrderedEvents } from './ordered-events.js';
import { decodeInVersion } from '../conversion-retry.js';
import { yieldForOwnTurn } from '../../../scheduling/slicer.js';
import { OWN_TURN_BYTES } from '../../../scheduling/thresholds.js';
import { listObjects } from '../list.js';
import { WATCH_ALL, watchUntilDone } from './watch-until-done.js';
import { NEVER_ABORTED } from '../../../util/never-aborted.js';

const RETRY_MILLIS = 1000;

export interface LocalClientOptions {
  readonly registry: ApiRegistry;
  readonly admission: AdmissionChain;
  readonly clock: Clock;
  /** The user that the clients act as; undefined for the server itself, which may do everything. */
  readonly user?: UserInfo;
  /** Authorizes each write if the clients act as another user. Reads are the server's own and are not authorized. */
  readonly authorizer?: Authorizer;
  /** The manager recorded in managedFields. */
  readonly fieldManager: string;
}

/** A list of all objects in their current state. */
const WHOLE: ListOptions = {
  resourceVersion: '',
  resourceVersionMatch: '',
  limit: 0,
  continue: '',
  predicate: EVERYTHING,
};

const deleteOptions = (policy: DeletionPolicy, preconditions: DeletePreconditions = {}): DeleteOptions => ({
  gracePeriodSeconds: undefined,
  orphanDependents: undefined,
  propagationPolicy: policy,
  preconditions,
  hasPreconditions: preconditions.uid !== undefined || preconditions.resourceVersion !== undefined,
  dryRun: false,
  ignoreStoreReadError: false,
});

type NamedWrite = Omit<UpdateRequest, 'object' | 'manager' | 'copy'>;

const optionsFor = (operation: 'CREATE' | 'UPDATE'): JsonObject => ({
  kind: operation === 'CREATE' ? 'CreateOptions' : 'UpdateOptions',
  apiVersion: 'meta.k8s.io/v1',
});

/** A large object gets turns of the event loop of its own: the server's own writes are not offloaded. */
const turnFor = (bytes: number): NamedWrite['turn'] => (bytes < OWN_TURN_BYTES ? undefined : yieldForOwnTurn);

/** Returns the object that a write left. */
async function shown(
  served: ServedVersion,
  { object, stored }: WriteResult,
  turn?: NamedWrite['turn'],
): Promise<KubeObject> {
  if (turn !== undefined) await turn();
  return stored === undefined ? object : decodeInVersion(served, stored);
}

/** A status update copies only metadata and status: the rest may be large. */
const copyOfStatus: UpdateRequest['copy'] = (object, current) =>
  current === undefined
    ? deepCopy(object)
    : { ...current, metadata: deepCopy(object.metadata), status: deepCopy(object['status']) };

/**
 * Clients for the server's own controllers. They do not use HTTP, but writes pass the same admission, validation and storage as any
 * other request.
 */
export class LocalClients implements LoopbackClients {
  constructor(private readonly options: LocalClientOptions) {}

  for(type: GroupResource): LoopbackClient {
    return new LocalClient(this.options, type);
  }
}

class LocalClient implements LoopbackClient {
  constructor(
    private readonly options: LocalClientOptions,
    private readonly type: GroupResource,
  ) {}

  /** Returns the version in which the controllers see the type: the storage version, even if hidden, or else the first served one. */
  private api(): StoredApi {
    const bundle = this.options.registry.bundleOf(this.type);
    let first: StoredApi | undefined;
    for (const api of bundle?.apis ?? []) {
      if (api.kind !== 'stored') continue;
      const { version, type: described } = api.served;
      if (version.name === described.storageVersion) return api;
      first ??= api;
    }
    const found = bundle?.hidden ?? first;
    if (found === undefined)
      throw new ApiError(404, 'NotFound', `no type ${this.type.resource} in group "${this.type.group}" is served`);
    return found;
  }

  /** Throws 403 unless the user is allowed. */
  private async check(verb: string, namespace: string, name: string, subresource = ''): Promise<void> {
    const { authorizer, user = LOOPBACK_USER } = this.options;
    if (authorizer === undefined) return;
    const { gvk } = this.api().served;
    const attributes = {
      user,
      verb,
      resourceRequest: true,
      namespace,
      apiGroup: gvk.group,
      apiVersion: gvk.version,
      resource: this.type.resource,
      subresource,
      name,
      path: '',
    };
    const { decision } = await authorizer.authorize(attributes, new AbortController().signal);
    if (decision === 'allow') return;
    const what = subresource === '' ? this.type.resource : `${this.type.resource}/${subresource}`;
    throw newForbidden(this.type, name, `User ${quote(user.name)} cannot ${verb} resource ${quote(what)}`);
  }

  private context(namespace: string, name: string, verb: string, subresource = ''): RequestContext {
    const api = this.api();
    return {
      info: {
        isResourceRequest: true,
        path: '',
        verb,
        apiPrefix: api.served.gvk.group === '' ? 'api' : 'apis',
        apiGroup: api.served.gvk.group,
        apiVersion: api.served.gvk.version,
        namespace,
        resource: this.type.resource,
        subresource,
        name,
        parts: [],
        fieldSelector: '',
        labelSelector: '',
      },
      user: this.options.user ?? LOOPBACK_USER,
      userAgent: this.options.fieldManager,
      auditId: randomUUID(),
      signal: NEVER_ABORTED,
      cancellation: NEVER_ABORTED,
      receivedAt: this.options.clock.now(),
      dryRun: false,
      warn: () => undefined,
      annotate: () => undefined,
    };
  }

  async get(namespace: string, name: string): Promise<KubeObject | undefined> {
    const { served, store } = this.api();
    const stored = await store.getLatest(store.key(namespace, name));
    return stored === undefined ? undefined : decodeInVersion(served, stored);
  }

  async list(namespace: string): Promise<readonly KubeObject[]> {
    const { served, store } = this.api();
    const { list } = await listObjects(store, namespace, WHOLE);
    return [...list.items()].map((item) => served.toObject(item));
  }

  async create(object: KubeObject): Promise<KubeObject> {
    const { served, storage } = this.api();
    const namespace = object.metadata.namespace ?? '';
    await this.check('create', namespace, '');
    const { admission, fieldManager: manager } = this.options;
    const context = this.context(namespace, object.metadata.name ?? '', 'create');
    return shown(served, await storage.create({ context, namespace, admission, optionsFor, object, manager }));
  }

  update(object: KubeObject): Promise<KubeObject> {
    return this.updateSubresource(object, '');
  }

  updateStatus(object: KubeObject): Promise<KubeObject> {
    return this.updateSubresource(object, 'status');
  }

  async updateSubresource(object: KubeObject, subresource: string): Promise<KubeObject> {
    const { served, store, storage } = this.api();
    const write = await this.namedWrite(object, 'update', subresource, { served, store });
    const copy = subresource === 'status' ? copyOfStatus : undefined;
    const updated = await storage.update({ ...write, object, manager: this.options.fieldManager, copy });
    return shown(served, updated, write.turn);
  }

  apply(object: KubeObject, fieldManager: string): Promise<KubeObject> {
    return this.applySubresource(object, fieldManager, '');
  }

  applyStatus(object: KubeObject, fieldManager: string): Promise<KubeObject> {
    return this.applySubresource(object, fieldManager, 'status');
  }

  private async applySubresource(object: KubeObject, manager: string, subresource: string): Promise<KubeObject> {
    const { served, store, storage } = this.api();
    const write = await this.namedWrite(object, 'patch', subresource, { served, store });
    const make = (current: KubeObject | undefined): KubeObject =>
      write.part.fieldManager.apply(current, object, { manager, force: true });
    return shown(served, await storage.patch({ ...write, make, apply: true }), write.turn);
  }

  /** Checks the user's right to write the object, and returns what updates and patches have in common. */
  private async namedWrite(
    object: KubeObject,
    verb: 'update' | 'patch',
    subresource: string,
    { served, store }: Pick<StoredApi, 'served' | 'store'>,
  ): Promise<NamedWrite> {
    const { namespace = '', name = '' } = object.metadata;
    await this.check(verb, namespace, name, subresource);
    return {
      context: this.context(namespace, name, verb, subresource),
      namespace,
      name,
      part: served.subresources[subresource] ?? served,
      admission: this.options.admission,
      optionsFor,
      authorizeCreate: () => this.check('create', namespace, ''),
      turn: turnFor(store.cache.peek(store.key(namespace, name))?.bytes.length ?? 0),
    };
  }

  async delete(
    namespace: string,
    name: string,
    preconditions: DeletePreconditions = {},
    policy: DeletionPolicy = 'Background',
  ): Promise<void> {
    const { storage } = this.api();
    const { admission } = this.options;
    await this.check('delete', namespace, name);
    const context = this.context(namespace, name, 'delete');
    await storage.delete({ context, namespace, name, admission, options: deleteOptions(policy, preconditions) });
  }

  async deleteCollection(namespace: string): Promise<void> {
    const { storage } = this.api();
    const { admission } = this.options;
    await this.check('deletecollection', namespace, '');
    const context = this.context(namespace, '', 'deletecollection');
    await storage.deleteCollection({ context, namespace, admission, options: deleteOptions('Background') }, WHOLE);
  }

  watch(listener: ResourceEventHandler, signal: AbortSignal): void {
    void this.watchWithRetry(listener, signal);
  }

  /** Watches from the current state, and restarts unless the caller ended the watch. */
  private async watchWithRetry(listener: ResourceEventHandler, signal: AbortSignal): Promise<void> {
    const isAborted = (): boolean => signal.aborted;
    while (!isAborted()) {
      try {
        await this.watchOnce(listener, signal);
      } catch {
        // The type is not served yet, or the store is unavailable: retried below.
      }
      if (isAborted()) return;
      await sleep(this.options.clock, RETRY_MILLIS, signal);
      if (!isAborted()) listener.reset?.();
    }
  }

  private async watchOnce(listener: ResourceEventHandler, signal: AbortSignal): Promise<void> {
    const { served, store } = this.api();
    const options = { ...WATCH_ALL, start: { mode: 'most-recent' as const }, initialEventsBookmark: true };
    const broken = new AbortController();
    const events = new OrderedEvents(listener, served, () => broken.abort());
    await watchUntilDone(store.cache, options, AbortSignal.any([signal, broken.signal]), (event) => events.add(event));
    await events.delivered;
  }
}
