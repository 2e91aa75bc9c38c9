import { newAlreadyExists, newConflict, newNotFound } from '../../../src/apimachinery/meta/errors.js';
import { deepCopy } from '../../../src/apimachinery/json/json.js';
import type { GroupResource, KubeObject } from '../../../src/apimachinery/meta/meta.js';
import type {
  DeletePreconditions,
  LoopbackClient,
  LoopbackClients,
  ResourceEventHandler,
} from '../../../src/registry/rest/loopback-client.js';

/** An in-memory client for the objects of one type, for tests of controllers. Versions, conflicts and watches work as in the real client. */
export class FakeLoopbackClient implements LoopbackClient {
  readonly objects = new Map<string, KubeObject>();
  /** The calls in order, such as `update ns/name`. */
  readonly calls: string[] = [];
  /** Runs before every call. If it throws, the call fails with that error. */
  before: (call: string) => void = () => undefined;
  private readonly listeners = new Set<ResourceEventHandler>();
  private version = 0;

  constructor(private readonly type: GroupResource) {}

  async get(namespace: string, name: string): Promise<KubeObject | undefined> {
    await this.note('get', namespace, name);
    return deepCopy(this.objects.get(key(namespace, name)));
  }

  async list(namespace: string): Promise<readonly KubeObject[]> {
    await this.note('list', namespace, '');
    return [...this.objects.values()]
      .filter((o) => namespace === '' || o.metadata.namespace === namespace)
      .map(deepCopy);
  }

  async create(object: KubeObject): Promise<KubeObject> {
    const { namespace = '', name = '' } = object.metadata;
    await this.note('create', namespace, name);
    if (this.objects.has(key(namespace, name))) throw newAlreadyExists(this.type, name);
    return this.store(object, `uid-${this.version + 1}`);
  }

  async updateSubresource(object: KubeObject, subresource: string): Promise<KubeObject> {
    return this.replace(`update ${subresource}`, object);
  }

  async update(object: KubeObject): Promise<KubeObject> {
    return this.replace('update', object);
  }

  async updateStatus(object: KubeObject): Promise<KubeObject> {
    return this.replace('updateStatus', object);
  }

  async apply(object: KubeObject, _fieldManager: string): Promise<KubeObject> {
    const { namespace = '', name = '' } = object.metadata;
    await this.note('apply', namespace, name);
    const old = this.objects.get(key(namespace, name));
    const metadata = { ...old?.metadata, ...object.metadata };
    return this.store({ ...old, ...object, metadata }, old?.metadata.uid ?? `uid-${this.version + 1}`);
  }

  async applyStatus(object: KubeObject, _fieldManager: string): Promise<KubeObject> {
    const { namespace = '', name = '' } = object.metadata;
    await this.note('applyStatus', namespace, name);
    const old = this.objects.get(key(namespace, name));
    if (old === undefined) throw newNotFound(this.type, name);
    return this.store({ ...old, status: object['status'] }, old.metadata.uid ?? '');
  }

  async delete(namespace: string, name: string, preconditions: DeletePreconditions = {}): Promise<void> {
    await this.note('delete', namespace, name);
    const old = this.objects.get(key(namespace, name));
    if (old === undefined) throw newNotFound(this.type, name);
    const { uid, resourceVersion } = preconditions;
    if (uid !== undefined && uid !== old.metadata.uid) throw newConflict(this.type, name, 'uid');
    if (resourceVersion !== undefined && resourceVersion !== old.metadata.resourceVersion) {
      throw newConflict(this.type, name, 'resourceVersion');
    }
    this.objects.delete(key(namespace, name));
    for (const listener of this.listeners) listener.delete?.(old);
  }

  async deleteCollection(namespace: string): Promise<void> {
    for (const object of await this.list(namespace)) await this.delete(namespace, object.metadata.name ?? '');
  }

  watch(listener: ResourceEventHandler, signal: AbortSignal): void {
    this.listeners.add(listener);
    signal.addEventListener('abort', () => this.listeners.delete(listener), { once: true });
    for (const object of this.objects.values()) listener.upsert(deepCopy(object));
    listener.synced?.();
  }

  /** Stores an object as if another client had written it. */
  put(object: KubeObject): KubeObject {
    return this.store(object, object.metadata.uid ?? `uid-${this.version + 1}`);
  }

  private async replace(verb: string, object: KubeObject): Promise<KubeObject> {
    const { namespace = '', name = '', resourceVersion } = object.metadata;
    await this.note(verb, namespace, name);
    const old = this.objects.get(key(namespace, name));
    if (old === undefined) throw newNotFound(this.type, name);
    if (resourceVersion !== undefined && resourceVersion !== old.metadata.resourceVersion) {
      throw newConflict(this.type, name, 'changed');
    }
    return this.store(object, old.metadata.uid ?? '');
  }

  private async note(verb: string, namespace: string, name: string): Promise<void> {
    await Promise.resolve();
    const call = `${verb} ${key(namespace, name)}`;
    this.calls.push(call);
    this.before(call);
  }

  private store(given: KubeObject, uid: string): KubeObject {
    const object = deepCopy(given);
    object.metadata.uid = uid;
    object.metadata.resourceVersion = String(++this.version);
    this.objects.set(key(object.metadata.namespace ?? '', object.metadata.name ?? ''), object);
    for (const listener of this.listeners) listener.upsert(deepCopy(object));
    return deepCopy(object);
  }
}

const key = (namespace: string, name: string): string => (namespace === '' ? name : `${namespace}/${name}`);

export class FakeLoopbackClients implements LoopbackClients {
  private readonly clients = new Map<string, FakeLoopbackClient>();

  for(type: GroupResource): FakeLoopbackClient {
    const name = `${type.resource}.${type.group}`;
    let client = this.clients.get(name);
    if (client === undefined) this.clients.set(name, (client = new FakeLoopbackClient(type)));
    return client;
  }
}
