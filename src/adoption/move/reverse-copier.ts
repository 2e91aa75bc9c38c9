import { setMaxListeners } from 'node:events';
import { parseJson } from '../../apimachinery/json/decode.js';
import { deepCopy, isObject, type JsonObject, objectAt, objectsOf, textOf } from '../../apimachinery/json/json.js';
import type { KubeObject } from '../../apimachinery/meta/meta.js';
import { type ClusterClient, ClusterError } from '../../client/cluster-client.js';
import { Slicer } from '../../scheduling/slicer.js';
import type { Backend, Revision } from '../../storage/interfaces.js';
import { type Clock, sleep } from '../../util/clock.js';
import { messageOf } from '../../util/error-message.js';
import { keyOf, revisionOf } from '../rehearsal/copier.js';
import type { RateLimit } from '../rate-limit.js';
import { storedPages } from '../rehearsal/stored-pages.js';
import { ClusterCopy, SERVER_SET_FIELDS, type ObjectRef, type ReturnedType } from './cluster-copy.js';

/** The number of objects written concurrently. */
const WORKERS = 16;
const RETRY_MILLIS = 500;
const IDLE_MILLIS = 20;

export interface ReverseCopierOptions {
  readonly backend: Pick<Backend, 'list' | 'get' | 'events' | 'currentRevision'>;
  readonly client: Pick<ClusterClient, 'call' | 'watch'>;
  readonly clock: Clock;
  readonly rate: RateLimit;
  readonly group: string;
  /** The name of the version that serves as the back door. */
  readonly door: string;
  readonly types: readonly ReturnedType[];
  /** Annex's log began above this revision: objects with an older one are unchanged in the cluster. */
  readonly first: Revision;
  /** Resolves when the cluster's revision is above one of Annex; undefined if revisions may go backwards. */
  readonly raise: ((above: Revision) => Promise<void>) | undefined;
}

/** The progress of the cluster's copy. */
export interface ReverseCopyProgress {
  /** The number of objects carried over, and of those known to differ. */
  readonly done: number;
  readonly left: number;
  /** Of those left, the number that the cluster has refused. */
  readonly refused: number;
  /** The number of objects with a lower generation than in Annex: several changes there are one here. */
  readonly lowered: number;
  readonly trouble: string;
}

/**
 * Brings the cluster's copy of a group up to date with Annex through the back door, object by object. Whatever either side shows, it writes
 * the newest state of Annex, so it can start over at any moment, and two replicas may run it at once.
 */
export class ReverseCopier {
  /** Objects that may differ, by type and key. */
  private readonly dirty = new Map<string, ObjectRef>();
  /** Objects found by the survey that have been neither carried over nor refused yet. */
  private readonly untried = new Set<string>();
  private readonly busy = new Set<string>();
  /** The UID in the cluster of each object that has another UID in Annex, by the latter. */
  private readonly uids = new Map<string, string>();
  /** The UIDs that are the same on both sides. */
  private readonly kept = new Set<string>();
  /** Objects written without references to owners that the cluster did not have yet. */
  private readonly ownerless = new Map<string, ObjectRef>();
  /** Of those, the ones to be written with all references now. */
  private readonly last = new Set<string>();
  private readonly created = new Set<string>();
  /** The last error of the cluster for each object that it refuses. */
  private readonly refusals = new Map<string, string>();
  private readonly lowered = new Set<string>();
  private followedRevision: Revision = 0;
  private followFailed: unknown;
  private done = 0;

  private readonly copy: ClusterCopy;

  constructor(private readonly options: ReverseCopierOptions) {
    this.copy = new ClusterCopy(options.client, `/apis/${options.group}/${options.door}`);
  }

  get progress(): ReverseCopyProgress {
    const { done, refusals, lowered } = this;
    const busy = [...this.busy].filter((id) => !this.dirty.has(id));
    const left = this.dirty.size + busy.length + this.ownerless.size;
    const [trouble = ''] = refusals.values();
    return { done, left, refused: refusals.size, lowered: lowered.size, trouble };
  }

  /** The UIDs of objects created in Annex: the cluster assigns them new ones. */
  get createdInAnnex(): ReadonlySet<string> {
    return this.created;
  }

  /** How many objects the survey found in Annex. */
  get objects(): number {
    return this.kept.size + this.created.size;
  }

  /** Follows the log of Annex from now on until the signal aborts, and compares both sides. Resolves when all differences are known. */
  async survey(signal: AbortSignal): Promise<void> {
    const after = await this.options.backend.currentRevision();
    void this.follow(after, signal);
    for (const type of this.options.types) await this.compare(type, signal);
  }

  /**
   * Carries over differences until the log has been followed up to `until`, at most `atMost` objects are left, and none is refused. Throws
   * on timeout.
   */
  async drain(until: Revision, atMost: number, millis: number, signal: AbortSignal): Promise<void> {
    const { clock } = this.options;
    const over = new AbortController();
    // Every worker adds a listener.
    setMaxListeners(0, over.signal);
    const end = clock.monotonic() + millis;
    const isDone = (): boolean =>
      this.followedRevision >= until &&
      this.progress.left <= atMost &&
      this.refusals.size + this.untried.size + this.ownerless.size === 0;
    const workers = Array.from({ length: WORKERS }, () => this.work(over.signal));
    try {
      while (!isDone()) {
        if (this.followFailed !== undefined) throw new Error(messageOf(this.followFailed));
        if (signal.aborted) throw new Error('the return was stopped');
        if (clock.monotonic() >= end)
          throw new Error(`${this.progress.left} objects have not been copied back${this.refusalSuffix()}`);
        if (this.dirty.size + this.busy.size <= atMost) this.requeueOwnerless();
        await sleep(clock, IDLE_MILLIS, signal);
      }
    } finally {
      over.abort();
      await Promise.all(workers);
    }
  }

  /** Throws if the numbers of objects differ. */
  async assertEqualCounts(): Promise<void> {
    for (const type of this.options.types) {
      const options = { prefix: '', from: '', limit: 1, revision: 0 };
      const { items, more, remaining } = await this.options.backend.list(type.resource, options);
      const ours = items.length + (more ? remaining : 0);
      const theirs = (await this.copy.collection(type).newest()).count;
      if (ours !== theirs) throw new Error(`Annex has ${ours} ${type.plural}, but the cluster has ${theirs}`);
    }
  }

  private refusalSuffix(): string {
    const { trouble } = this.progress;
    return trouble === '' ? '' : `: ${trouble}`;
  }

  private async follow(after: Revision, signal: AbortSignal): Promise<void> {
    const types = new Map(this.options.types.map((type) => [type.resource, type]));
    this.followedRevision = after;
    try {
      for await (const batch of this.options.backend.events(after, signal)) {
        for (const { resource, key, revision } of batch) {
          const type = types.get(resource);
          if (type !== undefined) this.add({ type, key });
          this.followedRevision = revision;
        }
      }
    } catch (error) {
      if (!signal.aborted) this.followFailed = error;
    }
  }

  private async compare(type: ReturnedType, signal: AbortSignal): Promise<void> {
    const { first, rate } = this.options;
    const ours = await this.listAnnexObjects(type);
    const collection = this.copy.collection(type);
    for (let token = ''; ;) {
      const page = await collection.page(token);
      for (const object of page.objects) {
        const key = keyOf(object);
        const known = ours.get(key);
        ours.delete(key);
        const revision = revisionOf(object);
        const { uid = '' } = object.metadata;
        if (known?.uid === uid) this.kept.add(uid);
        else if (known !== undefined) this.created.add(known.uid);
        if (known === undefined || known.revision > first || known.revision !== revision) this.find({ type, key });
      }
      token = page.continue;
      if (token === '') break;
      await rate.take(page.objects.length, signal);
      if (signal.aborted) throw new Error('the return was stopped');
    }
    for (const [key, { uid }] of ours) {
      this.created.add(uid);
      this.find({ type, key });
    }
  }

  private async listAnnexObjects(
    type: ReturnedType,
  ): Promise<Map<string, { readonly uid: string; readonly revision: Revision }>> {
    const { backend, clock } = this.options;
    const found = new Map<string, { uid: string; revision: Revision }>();
    const slicer = new Slicer(clock);
    for await (const page of storedPages(backend, type.resource)) {
      for (const { key, revision, bytes } of page) {
        if (slicer.isExhausted) await slicer.yield();
        found.set(key, { uid: contentOf(bytes).metadata.uid ?? '', revision });
      }
    }
    return found;
  }

  private find(place: ObjectRef): void {
    this.untried.add(idOf(place));
    this.add(place);
  }

  private add(place: ObjectRef): void {
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
        await this.syncObject(place);
        this.done++;
        this.refusals.delete(id);
      } catch (error) {
        this.dirty.set(id, place);
        if (!(error instanceof ClusterError && error.status === 409)) {
          this.refusals.set(id, `${place.type.plural} ${place.key}: ${messageOf(error)}`);
          await sleep(clock, RETRY_MILLIS, signal);
        }
      } finally {
        this.untried.delete(id);
        this.busy.delete(id);
      }
    }
  }

  /** Returns the first object that no worker is busy with. */
  private next(): readonly [string, ObjectRef] | undefined {
    for (const entry of this.dirty) if (!this.busy.has(entry[0])) return entry;
    return undefined;
  }

  /** Requeues objects that were written without owners: those that exist now are referenced, and the others are gone on both sides. */
  private requeueOwnerless(): void {
    for (const [id, place] of this.ownerless) {
      this.dirty.set(id, place);
      this.last.add(id);
    }
    this.ownerless.clear();
  }

  private async syncObject(place: ObjectRef): Promise<void> {
    const { backend, raise } = this.options;
    const { type, key } = place;
    const isLast = this.last.delete(idOf(place));
    const stored = await backend.get(type.resource, key);
    let found = await this.copy.read(place);
    if (stored === undefined) {
      this.lowered.delete(idOf(place));
      if (found !== undefined) await this.copy.remove(place, found);
      return;
    }
    const wanted = contentOf(stored.bytes);
    const { uid = '', generation = 0 } = wanted.metadata;
    await raise?.(stored.revision);
    // Same name, different object: the cluster's was deleted in Annex, or created by a replica that is gone.
    if (found !== undefined && found.metadata.uid !== uid && found.metadata.uid !== this.uids.get(uid)) {
      await this.copy.remove(place, found);
      found = undefined;
    }
    const { object, isComplete } = this.wantedInCluster(wanted, isLast);
    const isNew = found === undefined;
    found ??= await this.copy.create(place, object);
    if (found.metadata.uid === uid) this.kept.add(uid);
    else {
      this.created.add(uid);
      this.uids.set(uid, found.metadata.uid ?? '');
    }
    found = await this.copy.makeEqual(place, object, found);
    if (!isNew && raise !== undefined && revisionOf(found) <= stored.revision)
      found = await this.copy.touch(place, object, found);
    if ((found.metadata.generation ?? 0) < generation) this.lowered.add(idOf(place));
    else this.lowered.delete(idOf(place));
    if (wanted.metadata['deletionTimestamp'] !== undefined && found.metadata['deletionTimestamp'] === undefined)
      await this.copy.delete(place, found);
    if (!isComplete) this.ownerless.set(idOf(place), place);
  }

  /** Returns the object as the cluster is to have it. On all passes but the last, references to owners in the group that it lacks are left out. */
  private wantedInCluster(
    wanted: KubeObject,
    isLast: boolean,
  ): { readonly object: KubeObject; readonly isComplete: boolean } {
    const { group, door } = this.options;
    const object = deepCopy(wanted);
    const metadata = object.metadata as JsonObject;
    for (const field of SERVER_SET_FIELDS) Reflect.deleteProperty(metadata, field);
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
    return { object: { ...object, apiVersion: `${group}/${door}` }, isComplete };
  }
}

const idOf = ({ type, key }: ObjectRef): string => `${type.resource}/${key}`;

function contentOf(bytes: Uint8Array): KubeObject {
  const object = parseJson(bytes);
  if (!isObject(object) || objectAt(object, 'metadata') === undefined)
    throw new Error('a stored value is not an object');
  return object as KubeObject;
}
