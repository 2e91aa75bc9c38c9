import { randomUUID } from 'node:crypto';
import type { AdmissionAttributes, AdmissionChain } from '../../../admission/interfaces.js';
import { ApiError, newForbidden } from '../../../apimachinery/meta/errors.js';
import { deepCopy, type JsonObject } from '../../../apimachinery/json/json.js';
import { type GroupResource, type KubeObject, quote } from '../../../apimachinery/meta/meta.js';
import { type UserInfo, LOOPBACK_USER } from '../../../authentication/user/user.js';
import type { Authorizer } from '../../../authorization/authorizer/interfaces.js';
import type { RequestContext } from '../../../request/context.js';
import { EVERYTHING } from '../../../apimachinery/selectors/selection-predicate.js';
import { type Clock, sleep } from '../../../util/clock.js';
import type { ApiRegistry, StoredApi } from '../store/api-registry.js';
import type { Strategy } from '../../rest/interfaces.js';
import type {
  DeletePreconditions,
  DeletionPolicy,
  LoopbackClient,
  LoopbackClients,
  ResourceEventHandler,
} from '../../rest/loopback-client.js';
import { admissionVersions } from '../admission-versions.js';
import { createObject } from '../create.js';
import { deleteObject, type DeleteOptions, deleteOptionsObject } from '../delete.js';
import { deleteCollection } from '../delete-collection.js';
import { OrderedEvents } from './ordered-events.js';
import { retryOnPendingConversion, decodeInVersion } from '../conversion-retry.js';
import { yieldForOwnTurn } from '../../../scheduling/slicer.js';
import { OWN_TURN_BYTES } from '../../../scheduling/thresholds.js';
import { listObjects, type ListRequest } from '../list.js';
import { updateObject } from '../update.js';
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
const WHOLE: ListRequest = {
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

const noYield = (): undefined => undefined;
const yieldFor = (bytes: number): (() => Promise<void> | undefined) =>
  bytes < OWN_TURN_BYTES ? noYield : yieldForOwnTurn;

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
    const { served, store } = this.api();
    const namespace = object.metadata.namespace ?? '';
    await this.check('create', namespace, '');
    const context = this.context(namespace, object.metadata.name ?? '', 'create');
    await retryOnPendingConversion(() => served.fieldManager.update(undefined, object, this.options.fieldManager));
    await this.options.admission.admit(this.attributes(context, 'CREATE', object, undefined));
    const created = await createObject(store, {
      context,
      served,
      namespace,
      object,
      dryRun: false,
      validate: (made) => this.options.admission.validate(this.attributes(context, 'CREATE', made, undefined)),
    });
    return created.stored === undefined ? created.object : decodeInVersion(served, created.stored);
  }

  update(object: KubeObject): Promise<KubeObject> {
    const { served } = this.api();
    return this.write(object, served.strategy, () => deepCopy(object));
  }

  updateStatus(object: KubeObject): Promise<KubeObject> {
    return this.updateSubresource(object, 'status');
  }

  updateSubresource(object: KubeObject, subresource: string): Promise<KubeObject> {
    const { served } = this.api();
    const strategy = served.subresources[subresource]?.strategy ?? served.strategy;
    // A status update copies only metadata and status: the rest may be large.
    const next = (current: KubeObject | undefined): KubeObject =>
      current === undefined || subresource !== 'status'
        ? deepCopy(object)
        : { ...current, metadata: deepCopy(object.metadata), status: deepCopy(object['status']) };
    return this.write(object, strategy, next, { subresource });
  }

  apply(object: KubeObject, fieldManager: string): Promise<KubeObject> {
    const { served } = this.api();
    return this.write(
      object,
      served.strategy,
      (current) => served.fieldManager.apply(current, object, { manager: fieldManager, force: true }),
      { verb: 'patch' },
    );
  }

  applyStatus(object: KubeObject, fieldManager: string): Promise<KubeObject> {
    const { served } = this.api();
    const { strategy, fieldManager: manager } = served.subresources['status'] ?? served;
    return this.write(
      object,
      strategy,
      (current) => manager.apply(current, object, { manager: fieldManager, force: true }),
      { subresource: 'status', verb: 'patch' },
    );
  }

  private async write(
    object: KubeObject,
    strategy: Strategy,
    next: (current: KubeObject | undefined) => KubeObject,
    { subresource = '', verb = 'update' }: { subresource?: string; verb?: 'update' | 'patch' } = {},
  ): Promise<KubeObject> {
    const { served, store } = this.api();
    const isApply = verb === 'patch';
    const namespace = object.metadata.namespace ?? '';
    const name = object.metadata.name ?? '';
    await this.check(verb, namespace, name, subresource);
    const context = this.context(namespace, name, verb, subresource);
    const manager = served.subresources[subresource]?.fieldManager ?? served.fieldManager;
    const yieldIfLarge = yieldFor(store.cache.peek(store.key(namespace, name))?.bytes.length ?? 0);
    const updated = await updateObject(store, {
      context,
      served,
      strategy,
      namespace,
      name,
      dryRun: false,
      forceAllowCreate: isApply && subresource === '',
      expectedUid: object.metadata.uid,
      transform: async (current) => {
        await yieldIfLarge();
        const made = await retryOnPendingConversion(() => next(current));
        if (!isApply) await retryOnPendingConversion(() => manager.update(current, made, this.options.fieldManager));
        await yieldIfLarge();
        await this.options.admission.admit(
          this.attributes(context, current === undefined ? 'CREATE' : 'UPDATE', made, current),
        );
        return made;
      },
      validateCreate: (made) => this.options.admission.validate(this.attributes(context, 'CREATE', made, undefined)),
      validateUpdate: async (made, old) => {
        await this.options.admission.validate(this.attributes(context, 'UPDATE', made, old));
        await yieldIfLarge();
      },
    });
    await yieldIfLarge();
    return updated.stored === undefined ? updated.object : decodeInVersion(served, updated.stored);
  }

  async delete(
    namespace: string,
    name: string,
    preconditions: DeletePreconditions = {},
    policy: DeletionPolicy = 'Background',
  ): Promise<void> {
    const { served, store } = this.api();
    await this.check('delete', namespace, name);
    const context = this.context(namespace, name, 'delete');
    const options = deleteOptions(policy, preconditions);
    const validate = this.admitDelete(context, options);
    await deleteObject(store, { context, served, namespace, name, options, validate });
  }

  async deleteCollection(namespace: string): Promise<void> {
    const { served, store } = this.api();
    await this.check('deletecollection', namespace, '');
    const context = this.context(namespace, '', 'deletecollection');
    const options = deleteOptions('Background');
    const validate = this.admitDelete(context, options);
    const inOrder = this.options.admission.readsObjects('DELETE', served.groupResource);
    await deleteCollection(store, { context, served, namespace, options, validate, inOrder }, WHOLE);
  }

  private admitDelete(context: RequestContext, options: DeleteOptions): (object: KubeObject) => Promise<void> {
    return async (object) => {
      const attributes = this.attributes(context, 'DELETE', undefined, object, deleteOptionsObject(options));
      await this.options.admission.admit(attributes);
      await this.options.admission.validate(attributes);
    };
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

  private attributes(
    context: RequestContext,
    operation: 'CREATE' | 'UPDATE' | 'DELETE',
    object: KubeObject | undefined,
    oldObject: KubeObject | undefined,
    options: JsonObject = {
      kind: operation === 'CREATE' ? 'CreateOptions' : 'UpdateOptions',
      apiVersion: 'meta.k8s.io/v1',
    },
  ): AdmissionAttributes {
    const { served } = this.api();
    const { namespace, name } = context.info;
    return {
      operation,
      kind: served.gvk,
      resource: { ...served.groupResource, version: served.gvk.version },
      subresource: context.info.subresource,
      namespace: served.type.isNamespace === true ? name : namespace,
      name,
      object,
      oldObject,
      options,
      dryRun: false,
      user: context.user,
      cancellation: context.cancellation,
      signal: () => context.signal,
      versions: admissionVersions(served, context.info.subresource),
      warn: () => undefined,
      annotate: () => undefined,
    };
  }
}
