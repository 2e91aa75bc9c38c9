import { parseJson } from '../../../apimachinery/json/decode.js';
import { deepCopy, deepEqual, isObject, type JsonObject, objectAt, stringAt } from '../../../apimachinery/json/json.js';
import { objectsOf, textOf } from '../../../apimachinery/json/values.js';
import type { KubeObject } from '../../../apimachinery/meta/meta.js';
import { type ClusterClient, ClusterError } from '../../../client/cluster-client.js';
import { Slicer } from '../../../scheduling/slicer.js';
import type { Backend, Revision } from '../../../storage/interfaces.js';
import { type Clock, sleep } from '../../../util/clock.js';
import { messageOf } from '../../../util/error-message.js';
import { ClusterCollection } from '../collection.js';
import { keyOf, revisionOf } from '../copier.js';
import type { RateLimit } from '../rate-limit.js';
import { BACK_DOOR } from '../switch/cluster-definitions.js';

/** Objects of Annex that are read at once. */
const PAGE = 500;
/** Objects that are written at once. */
const WORKERS = 16;
const RETRY_MILLIS = 500;
const IDLE_MILLIS = 20;
/** On an object that was written without being changed, for a moment. */
const TOUCHED = 'kubeannex.io/touched';
/** What kube-apiserver sets itself. */
const OF_THE_SERVER = [
  'uid',
  'resourceVersion',
  'creationTimestamp',
  'generation',
  'deletionTimestamp',
  'deletionGracePeriodSeconds',
  'selfLink',
];

export interface ReturnedType {
  /** `<plural>.<group>`. */
  readonly resource: string;
  readonly plural: string;
}

export interface CarrierOptions {
  readonly backend: Pick<Backend, 'list' | 'get' | 'events' | 'currentRevision'>;
  readonly client: Pick<ClusterClient, 'call' | 'watch'>;
  readonly clock: Clock;
  readonly rate: RateLimit;
  readonly group: string;
  readonly types: readonly ReturnedType[];
  /** The log of Annex began above it: what has an older revision is in the cluster as it is. */
  readonly first: Revision;
  /** The cluster's revision before anything was written back. */
  readonly from: Revision;
  /** Resolves when the cluster's revision is above one of Annex. */
  readonly raise: (above: Revision) => Promise<void>;
}

interface Place {
  readonly type: ReturnedType;
  readonly key: string;
}

/**
 * Brings the cluster's copy of a group up to what Annex has, by the back door, object by object: whatever either side shows, what is
 * written is the newest state of Annex. So it can be begun anew at any moment, and two may do it at once.
 */
export class Carrier {
  /** What may differ, by type and key. */
  private readonly dirty = new Map<string, Place>();
  private readonly busy = new Set<string>();
  /** Uids in the cluster of objects whose uid in Annex is another one. */
  private readonly uids = new Map<string, string>();
  /** Uids that are the same on both sides. */
  private readonly kept = new Set<string>();
  /** Written without references to owners that the cluster did not have yet. */
  private readonly ownerless = new Map<string, Place>();
  /** Of those, the ones that are written with all references now. */
  private readonly last = new Set<string>();
  private readonly created = new Set<string>();
  private followed: Revision = 0;
  private followFailed: unknown;
  private done = 0;
  private lastTrouble = '';

  constructor(private readonly options: CarrierOptions) {}

  /** Objects that have been looked at one by one, and those that still have to be. */
  get progress(): { readonly done: number; readonly left: number; readonly trouble: string } {
    return { done: this.done, left: this.dirty.size + this.busy.size + this.ownerless.size, trouble: this.lastTrouble };
  }

  /** Uids of the objects that were created in Annex: the cluster gives them others. */
  get born(): ReadonlySet<string> {
    return this.created;
  }

  /** Follows the log of Annex, from now on, until the signal aborts; then compares both sides. Resolves when what differs is known. */
  async survey(signal: AbortSignal): Promise<void> {
    const after = await this.options.backend.currentRevision();
    void this.follow(after, signal);
    for (const type of this.options.types) await this.compare(type, signal);
  }

  /** Carries over what differs until nothing is known to, up to a revision of Annex; throws where that takes too long. */
  async drain(until: Revision, millis: number, signal: AbortSignal): Promise<void> {
    const { clock } = this.options;
    const over = new AbortController();
    const end = clock.monotonic() + millis;
    const isDone = (): boolean => this.followed >= until && this.progress.left === 0;
    const workers = Array.from({ length: WORKERS }, () => this.work(over.signal));
    try {
      while (!isDone()) {
        if (this.followFailed !== undefined) throw new Error(messageOf(this.followFailed));
        if (signal.aborted) throw new Error('the way back was stopped');
        if (clock.monotonic() >= end)
          throw new Error(`${this.progress.left} objects have not been carried over${this.why()}`);
        if (this.dirty.size + this.busy.size === 0) this.complete();
        await sleep(clock, IDLE_MILLIS, signal);
      }
    } finally {
      over.abort();
      await Promise.all(workers);
    }
  }

  /** Throws where the numbers of objects differ. */
  async mustBeEqual(): Promise<void> {
    for (const type of this.options.types) {
      const { items, more, remaining } = await this.options.backend.list(type.resource, {
        ...{ prefix: '', from: '', limit: 1, revision: 0 },
      });
      const ours = items.length + (more ? remaining : 0);
      const theirs = (await this.collection(type).newest()).count;
      if (ours !== theirs) throw new Error(`Annex has ${ours} ${type.plural}, and the cluster ${theirs}`);
    }
  }

  private why(): string {
    return this.lastTrouble === '' ? '' : `: ${this.lastTrouble}`;
  }

  private collection({ plural }: ReturnedType): ClusterCollection {
    return new ClusterCollection(this.options.client, `/apis/${this.options.group}/${BACK_DOOR}`, plural);
  }

  private async follow(after: Revision, signal: AbortSignal): Promise<void> {
    const types = new Map(this.options.types.map((type) => [type.resource, type]));
    this.followed = after;
    try {
      for await (const batch of this.options.backend.events(after, signal).batches) {
        for (const { resource, key, revision } of batch) {
          const type = types.get(resource);
          if (type !== undefined) this.add({ type, key });
          this.followed = revision;
        }
      }
    } catch (error) {
      if (!signal.aborted) this.followFailed = error;
    }
  }

  private async compare(type: ReturnedType, signal: AbortSignal): Promise<void> {
    const { first, from, rate } = this.options;
    const ours = await this.ours(type);
    const collection = this.collection(type);
    for (let token = ''; ;) {
      const page = await collection.page(token);
      for (const object of page.objects) {
        const key = keyOf(object);
        const known = ours.get(key);
        ours.delete(key);
        const revision = revisionOf(object);
        const { uid = '' } = object.metadata;
        if (known?.uid === uid) this.kept.add(uid);
        else if (known !== undefined) {
          this.created.add(known.uid);
          if (revision > from) this.uids.set(known.uid, uid);
        }
        if (known === undefined || known.revision > first || known.revision !== revision) this.add({ type, key });
      }
      token = page.continue;
      if (token === '') break;
      await rate.take(page.objects.length, signal);
      if (signal.aborted) throw new Error('the way back was stopped');
    }
    for (const [key, { uid }] of ours) {
      this.created.add(uid);
      this.add({ type, key });
    }
  }

  private async ours(type: ReturnedType): Promise<Map<string, { readonly uid: string; readonly revision: Revision }>> {
    const { backend, clock } = this.options;
    const found = new Map<string, { uid: string; revision: Revision }>();
    const slicer = new Slicer(clock);
    let revision = 0;
    for (let from = ''; ;) {
      const page = await backend.list(type.resource, { prefix: '', from, limit: PAGE, revision });
      revision = page.revision;
      for (const stored of page.items) {
        if (slicer.isOver) await slicer.yield();
        const uid = contentOf(stored.bytes).metadata.uid ?? '';
        found.set(stored.key, { uid, revision: stored.revision });
      }
      const last = page.items.at(-1);
      if (!page.more || last === undefined) return found;
      from = `${last.key}\0`;
    }
  }

  private add(place: Place): void {
    this.dirty.set(idOf(place), place);
  }

  private async work(signal: AbortSignal): Promise<void> {
    const { clock, rate } = this.options;
    while (!signal.aborted) {
      const next = this.next();
      if (next === undefined) {
        await sleep(clock, IDLE_MILLIS, signal);
        continue;
      }
      const [id, place] = next;
      this.dirty.delete(id);
      this.busy.add(id);
      try {
        await rate.take(1, signal);
        await this.bring(place);
        this.done++;
        this.lastTrouble = '';
      } catch (error) {
        this.dirty.set(id, place);
        if (!(error instanceof ClusterError && error.status === 409)) {
          this.lastTrouble = `${place.type.plural} ${place.key}: ${messageOf(error)}`;
          await sleep(clock, RETRY_MILLIS, signal);
        }
      } finally {
        this.busy.delete(id);
      }
    }
  }

  /** The first that nobody is at work on. */
  private next(): readonly [string, Place] | undefined {
    for (const entry of this.dirty) if (!this.busy.has(entry[0])) return entry;
    return undefined;
  }

  /** Owners that are there now are named; what others name is gone on both sides. */
  private complete(): void {
    for (const [id, place] of this.ownerless) {
      this.dirty.set(id, place);
      this.last.add(id);
    }
    this.ownerless.clear();
  }

  private async bring(place: Place): Promise<void> {
    const { backend, from, raise } = this.options;
    const { type, key } = place;
    const isLast = this.last.delete(idOf(place));
    const stored = await backend.get(type.resource, key);
    let found = await this.read(place);
    if (stored === undefined) {
      if (found !== undefined) await this.remove(place, found);
      return;
    }
    const wanted = contentOf(stored.bytes);
    const { uid = '' } = wanted.metadata;
    await raise(stored.revision);
    // The same name, and another object: what the cluster has was deleted in Annex.
    if (found !== undefined && found.metadata.uid !== uid && revisionOf(found) <= from) {
      await this.remove(place, found);
      found = undefined;
    }
    const { object, isComplete } = this.wantedInCluster(wanted, isLast);
    if (found === undefined) found = await this.create(place, object);
    else if (!isSame(found, object)) found = await this.write(place, object, found);
    else if (revisionOf(found) <= stored.revision) found = await this.touch(place, object, found);
    if (found.metadata.uid === uid) this.kept.add(uid);
    else {
      this.created.add(uid);
      this.uids.set(uid, found.metadata.uid ?? '');
    }
    const managed = object.metadata['managedFields'];
    // Whoever writes becomes a manager of what he changes; a second write changes nothing but that.
    if (managed !== undefined && !deepEqual(managed, found.metadata['managedFields']))
      found = await this.write(place, object, found);
    if (wanted.metadata['deletionTimestamp'] !== undefined && found.metadata['deletionTimestamp'] === undefined)
      await this.delete(place, found);
    if (!isComplete) this.ownerless.set(idOf(place), place);
  }

  /** As the cluster is to have it. References to owners in the group that it does not have yet are left out, unless it is the last time. */
  private wantedInCluster(
    wanted: KubeObject,
    isLast: boolean,
  ): { readonly object: KubeObject; readonly isComplete: boolean } {
    const { group } = this.options;
    const object = deepCopy(wanted);
    const metadata = object.metadata as JsonObject;
    for (const field of OF_THE_SERVER) Reflect.deleteProperty(metadata, field);
    let isComplete = true;
    const owners = objectsOf(metadata['ownerReferences']).flatMap((owner): JsonObject[] => {
      const uid = textOf(owner['uid']);
      if (!textOf(owner['apiVersion']).startsWith(`${group}/`) || this.kept.has(uid)) return [owner];
      const there = this.uids.get(uid);
      if (there !== undefined) return [{ ...owner, uid: there }];
      if (isLast) return [owner];
      isComplete = false;
      return [];
    });
    if (owners.length > 0) metadata['ownerReferences'] = owners;
    else Reflect.deleteProperty(metadata, 'ownerReferences');
    return { object: { ...object, apiVersion: `${group}/${BACK_DOOR}` }, isComplete };
  }

  private async read(place: Place): Promise<KubeObject | undefined> {
    const { status, body } = await this.options.client.call('GET', this.path(place));
    if (status === 404) return undefined;
    return taken(status, body);
  }

  private async create(place: Place, object: KubeObject): Promise<KubeObject> {
    const { status, body } = await this.options.client.call('POST', this.collectionPath(place), object);
    return taken(status, body);
  }

  private async write(place: Place, object: KubeObject, found: KubeObject): Promise<KubeObject> {
    const { uid = '', resourceVersion = '' } = found.metadata;
    const metadata = { ...object.metadata, uid, resourceVersion };
    const { status, body } = await this.options.client.call('PUT', this.path(place), { ...object, metadata });
    return taken(status, body);
  }

  /** Gives an object that is as it should be a newer revision. */
  private async touch(place: Place, object: KubeObject, found: KubeObject): Promise<KubeObject> {
    const annotations = { ...object.metadata.annotations, [TOUCHED]: '' };
    const touched = await this.write(place, { ...object, metadata: { ...object.metadata, annotations } }, found);
    return this.write(place, object, touched);
  }

  /** Takes an object away, whatever its finalizers wait for: it is gone in Annex. */
  private async remove(place: Place, found: KubeObject): Promise<void> {
    let last = found;
    if ((found.metadata.finalizers ?? []).length > 0) {
      const { finalizers: _, ...metadata } = found.metadata;
      last = await this.write(place, { ...found, metadata }, found);
    }
    await this.delete(place, last);
  }

  private async delete(place: Place, { metadata: { uid = '', resourceVersion = '' } }: KubeObject): Promise<void> {
    const options = { apiVersion: 'v1', kind: 'DeleteOptions', preconditions: { uid, resourceVersion } };
    const { status, body } = await this.options.client.call('DELETE', this.path(place), options);
    if (status !== 404) taken(status, body);
  }

  private collectionPath({ type, key }: Place): string {
    const slash = key.indexOf('/');
    const namespace = slash < 0 ? '' : `/namespaces/${encodeURIComponent(key.slice(0, slash))}`;
    return `/apis/${this.options.group}/${BACK_DOOR}${namespace}/${type.plural}`;
  }

  private path(place: Place): string {
    return `${this.collectionPath(place)}/${encodeURIComponent(place.key.slice(place.key.indexOf('/') + 1))}`;
  }
}

const idOf = ({ type, key }: Place): string => `${type.resource}/${key}`;

function contentOf(bytes: Uint8Array): KubeObject {
  const object = parseJson(bytes);
  if (!isObject(object) || objectAt(object, 'metadata') === undefined) throw new Error('a stored object is no object');
  return object as KubeObject;
}

function taken(status: number, body: JsonObject): KubeObject {
  if (status >= 300) throw new ClusterError(status, stringAt(body, 'message') ?? `the cluster answers with ${status}`);
  return body as KubeObject;
}

/** But for what the server sets, and for who manages which field. */
function isSame(found: KubeObject, object: KubeObject): boolean {
  const ofUsers = ({ metadata, ...rest }: KubeObject): JsonObject => ({
    ...rest,
    metadata: Object.fromEntries(
      Object.entries(metadata).filter(([name]) => name !== 'managedFields' && !OF_THE_SERVER.includes(name)),
    ),
  });
  return deepEqual(ofUsers(found), ofUsers(object));
}
