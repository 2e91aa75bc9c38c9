import { ApiError } from '../../apimachinery/meta/errors.js';
import type { GroupResource, KubeObject } from '../../apimachinery/meta/meta.js';
import { storedTypes } from '../../controllers/type-watches.js';
import type { ApiRegistry, StoredApi } from '../../registry/generic/store/api-registry.js';
import { splitKey } from '../../registry/generic/store/resource-store.js';
import type { KeptHistory } from '../../storage/kept/interfaces.js';
import { type Clock, sleep } from '../../util/clock.js';
import { messageOf } from '../../util/error-message.js';
import { nameOfType } from '../names.js';
import { decodeContent } from '../revisions/shown-revision.js';
import { type Conditions, conditionsOf, EVERYTHING, matches } from './conditions.js';
import { type Candidate, candidates, type CurrentObjects, type Search } from './candidates.js';
import { RestoreFailed } from './failed.js';
import { inLayers, type OrderedObject } from './order.js';
import { inParallel } from './in-parallel.js';
import { mayHaveOwners, type OwnerLookup, ownersOf, remapOwners } from './owners.js';
import { Report } from './report.js';
import type { RestoreSpec } from './spec.js';
import { type RestoreWriter, shownState, type Written } from './writer.js';

/** How many objects are written at a time. */
const WIDTH = 64;
const RETRIES = 5;
const RETRY_MILLIS = 1_000;
/** How long a definition that was brought back may take to be served. */
const SERVED_MILLIS = 30_000;
const SERVED_POLL_MILLIS = 50;

export interface RestorerOptions {
  readonly kept: KeptHistory;
  readonly registry: ApiRegistry;
  readonly ownerExists: OwnerLookup;
  readonly clock: Clock;
  /** The type whose objects are definitions. */
  readonly definitions: GroupResource;
}

/** One restore, under way. */
export interface Restore {
  readonly spec: RestoreSpec;
  /** The uid of the ObjectRestore, which its writes name as audit ID. */
  readonly id: string;
  readonly createdAt: number;
  /** True if it may have written already, before a crash. */
  readonly resumes: boolean;
  readonly writer: RestoreWriter;
  readonly signal: AbortSignal;
  /** Called now and then, with what has been done so far. */
  progress(report: Report): void;
}

/** A type to look for objects in. */
interface Part {
  readonly api: StoredApi;
  readonly search: Search;
}

/** An object that has owners, and so may have to wait for them. */
interface Dependent extends OrderedObject {
  readonly candidate: Candidate;
  readonly api: StoredApi;
}

/** Carries out restores. Doing one again after a crash does what is left. */
export class Restorer {
  constructor(private readonly options: RestorerOptions) {}

  async run(restore: Restore): Promise<Report> {
    const run = new Run(this.options, restore);
    await run.all();
    return run.report;
  }
}

class Run {
  readonly report = new Report();
  /** The new uids of objects that others in the restore may refer to. */
  private readonly newUids = new Map<string, string>();
  /** The uids that owner references name. */
  private readonly referenced = new Set<string>();
  /** The objects that this restore had written before a crash, with their uids. */
  private readonly mine = new Map<string, string>();
  private readonly condition: Conditions;

  constructor(
    private readonly options: RestorerOptions,
    private readonly restore: Restore,
  ) {
    this.condition = conditionsOf(restore.spec, options.clock.now());
  }

  async all(): Promise<void> {
    const { spec, resumes } = this.restore;
    if (resumes) await this.findMine();
    const { definitions, registry } = this.options;
    const isNamespace = spec.resource.group === '' && spec.resource.resource === 'namespaces';
    if (isNamespace && spec.contents) return this.namespaces();
    const api = apiOf(registry, spec.resource);
    if (api === undefined)
      throw new RestoreFailed(
        'TypeNotServed',
        `${nameOfType(spec.resource)} is not served: bring its definition back first`,
      );
    await this.checkReading(api);
    const isDefinition = nameOfType(spec.resource) === nameOfType(definitions);
    if (isDefinition && spec.contents) return this.definitions(api);
    await this.parts([{ api, search: this.searchIn(api) }], this.condition);
  }

  /** What a condition finds, and what comes back elsewhere, tells about the objects, so their creator has to be allowed to read them. */
  private async checkReading(api: StoredApi): Promise<void> {
    const { spec, writer } = this.restore;
    if (!this.condition.isNarrow && spec.as.namespace === '' && spec.as.name === '') return;
    try {
      if (spec.names === undefined) await writer.check(api, 'list', spec.namespace, '', '');
      else for (const name of spec.names) await writer.check(api, 'get', spec.namespace, name, '');
    } catch (error) {
      throw error instanceof ApiError && error.code === 403 ? new RestoreFailed('Forbidden', error.message) : error;
    }
  }

  /** Brings back definitions, and the objects that were deleted with each. */
  private async definitions(api: StoredApi): Promise<void> {
    const deleted = await this.parts([{ api, search: this.searchIn(api) }], this.condition);
    if (this.restore.spec.dryRun) return;
    const parts: Part[] = [];
    for (const definition of deleted) {
      const [plural = '', ...group] = (definition.metadata.name ?? '').split('.');
      const served = await this.servedType({ group: group.join('.'), resource: plural });
      if (served !== undefined) parts.push({ api: served, search: this.contents(served, '', definition) });
    }
    await this.parts(parts, EVERYTHING);
  }

  /** Brings back Namespaces, where they are served, and what was deleted with each. */
  private async namespaces(): Promise<void> {
    const { spec } = this.restore;
    const { registry } = this.options;
    const api = apiOf(registry, spec.resource);
    const deleted: readonly KubeObject[] =
      api === undefined
        ? (spec.names ?? []).map((name) => ({ apiVersion: 'v1', kind: 'Namespace', metadata: { name } }))
        : await this.parts([{ api, search: this.searchIn(api) }], this.condition);
    const types = [...storedTypes(registry).values()].flatMap(({ store, served }) =>
      store.namespaced ? (apiOf(registry, served.groupResource) ?? []) : [],
    );
    const parts = deleted.flatMap((namespace) =>
      types.map((type) => ({ api: type, search: this.contents(type, namespace.metadata.name ?? '', namespace) })),
    );
    await this.parts(parts, EVERYTHING);
  }

  /** Returns the search for what was deleted with a Namespace or a definition. */
  private contents({ store }: StoredApi, namespace: string, { metadata }: KubeObject): Search {
    const { deletedSince } = this.restore.spec;
    const began = Date.parse(metadata.deletionTimestamp ?? '');
    return {
      resource: store.resource,
      prefix: namespace === '' ? '' : `${namespace}/`,
      keys: undefined,
      since: Number.isNaN(began) ? deletedSince : Math.max(began, deletedSince),
      to: undefined,
      taken: false,
    };
  }

  private async servedType(type: GroupResource): Promise<StoredApi | undefined> {
    const { clock, registry } = this.options;
    const deadline = clock.monotonic() + SERVED_MILLIS;
    for (;;) {
      const api = apiOf(registry, type);
      if (api !== undefined && !api.terminating) return api;
      if (clock.monotonic() >= deadline) {
        this.report.refusal(nameOfType(type), {
          reason: 'TypeNotServed',
          message: `${nameOfType(type)} is not served ${String(SERVED_MILLIS / 1000)} s after its definition came back; its objects can still be brought back`,
        });
        return undefined;
      }
      await sleep(clock, SERVED_POLL_MILLIS, this.restore.signal);
    }
  }

  private searchIn({ store }: StoredApi): Search {
    const { namespace, names, deletedSince, to } = this.restore.spec;
    if (store.namespaced && names !== undefined && namespace === '')
      throw new RestoreFailed('NamespaceMissing', 'spec.names needs spec.namespace');
    const prefix = store.namespaced && namespace !== '' ? `${namespace}/` : '';
    return {
      resource: store.resource,
      prefix,
      keys: names?.map((name) => prefix + name),
      since: deletedSince,
      to,
      taken: true,
    };
  }

  /** Brings back the objects of several types, owners first. Returns the states of Namespaces and definitions. */
  private async parts(parts: readonly Part[], conditions: Conditions): Promise<readonly KubeObject[]> {
    const dependents: Dependent[] = [];
    for (const { api, search } of parts) {
      for await (const candidate of this.selected(api, search, conditions)) {
        this.report.selected++;
        const dependent = dependentOf(candidate, api);
        if (dependent !== undefined) dependents.push(dependent);
        this.restore.signal.throwIfAborted();
      }
      this.progress();
    }
    for (const { owners } of dependents) for (const owner of owners) this.referenced.add(owner);
    const states: KubeObject[] = [];
    const isSmall = parts.every(({ api }) => !api.store.namespaced);
    for (const { api, search } of parts) {
      await inParallel(this.selected(api, search, conditions), WIDTH, async (candidate) => {
        if (dependentOf(candidate, api) !== undefined) return;
        if (isSmall && candidate.content !== undefined && this.restore.spec.contents) {
          const state = decodeContent(candidate.content);
          if (state !== undefined) states.push(state);
        }
        await this.bringBack(api, candidate);
      });
    }
    const set = new Set([...dependents.map(({ uid }) => uid), ...this.newUids.keys()]);
    for (const layer of inLayers(dependents, set))
      await inParallel(layer, WIDTH, ({ api, candidate }) => this.bringBack(api, candidate));
    return states;
  }

  /** Yields the candidates that the conditions select and that have not been written before. */
  private async *selected(api: StoredApi, search: Search, conditions: Conditions): AsyncGenerator<Candidate> {
    const where = conditions.where?.(api);
    for await (const candidate of candidates(this.options.kept, this.current(), search)) {
      const { content } = candidate;
      if (this.mine.has(idOf(candidate))) continue;
      if (content !== undefined && content.unreadable === undefined) {
        if (conditions.labels !== undefined && !conditions.labels(decodeContent(content)?.metadata.labels)) continue;
        if (where !== undefined && !matches(where, candidate.key, content)) continue;
      } else if (search.keys === undefined && conditions !== EVERYTHING && conditions.isNarrow) continue;
      yield candidate;
    }
  }

  private current(): CurrentObjects {
    const { registry } = this.options;
    const storeOf = (resource: string) => storedTypes(registry).get(resource)?.store;
    return {
      get: async (resource, key) => storeOf(resource)?.getLatest(key),
      async *all(resource, prefix) {
        const store = storeOf(resource);
        await store?.cache.ready();
        yield* store?.cache.peekAll(prefix) ?? [];
      },
    };
  }

  private async bringBack(api: StoredApi, candidate: Candidate): Promise<void> {
    const name = `${candidate.resource}/${candidate.key}`;
    this.restore.signal.throwIfAborted();
    const { outcome, uid, withoutStatus } = await this.withRetries(() => this.written(api, candidate));
    this.report.count(name, outcome);
    if (withoutStatus !== undefined) this.report.refusal(name, withoutStatus);
    if (uid !== undefined && this.referenced.size > 0) {
      const old = oldUid(candidate);
      if (this.referenced.has(old)) this.newUids.set(old, uid);
    }
    this.progress();
  }

  private async written(api: StoredApi, { key, resource, content, newest }: Candidate): Promise<Written> {
    if (content === undefined)
      return refused(
        'NotFound',
        newest === undefined ? 'no state of it is kept' : 'its state of then is no longer kept',
      );
    if (content.unreadable !== undefined) return refused('Unreadable', content.unreadable);
    const { spec, writer } = this.restore;
    const { namespace, name } = splitKey(key);
    let state: KubeObject;
    try {
      state = await shownState(api, key, content);
    } catch (error) {
      if (error instanceof ApiError && error.code < 500) throw error;
      return refused('ConversionFailed', messageOf(error));
    }
    const within = api.store.namespaced ? spec.as.namespace || namespace : '';
    const place = { namespace: within, name: spec.as.name || name };
    const remapped = await remapOwners(ownersOf(state), within, this.newUids, this.options.ownerExists);
    for (const { kind = '', name: owner = '' } of remapped.leftOut)
      this.report.ownerLeftOut(`${resource}/${key}`, `${kind}/${owner}`);
    if (remapped.kept.length > 0) state.metadata.ownerReferences = [...remapped.kept];
    else delete state.metadata.ownerReferences;
    const isMoved = place.namespace !== namespace || place.name !== name;
    const target = { ...place, state, newest: isMoved ? undefined : newest, yields: isMadeByCluster(resource, name) };
    return writer.write(api, target);
  }

  /** Repeats what fails because the server is busy or the store is away. */
  private async withRetries(work: () => Promise<Written>): Promise<Written> {
    for (let attempt = 1; ; attempt++) {
      try {
        return await work();
      } catch (error) {
        if (attempt > RETRIES || !(error instanceof ApiError)) throw error;
        await sleep(this.options.clock, RETRY_MILLIS * attempt, this.restore.signal);
      }
    }
  }

  /** Finds what this restore wrote before a crash. */
  private async findMine(): Promise<void> {
    const { kept } = this.options;
    const { id, createdAt } = this.restore;
    for (let upTo = 0; ;) {
      const part = { resource: undefined, prefix: '', after: 0, upTo, limit: 500 };
      const { entries, more } = await kept.list({ ...part, order: 'newest first' });
      for (const entry of entries) {
        // Times of objects have whole seconds.
        if (entry.time < createdAt) return;
        if (entry.author?.auditID !== id || entry.operation === 'Delete' || this.mine.has(idOf(entry))) continue;
        const uid = decodeContent(entry.content)?.metadata.uid ?? '';
        this.mine.set(idOf(entry), uid);
        await this.remember(entry, uid);
        this.report.selected++;
        this.report.count('', { kind: 'restored' });
      }
      const last = entries.at(-1);
      if (!more || last === undefined) return;
      upTo = last.revision - 1;
    }
  }

  /** Remembers the new uid of an object that was written before a crash, under the one that it had. */
  private async remember({ resource, key, revision }: KeyedRevision, uid: string): Promise<void> {
    const part = { resource, prefix: '', key, after: 0, upTo: revision - 1, limit: 1 };
    const { entries } = await this.options.kept.list({ ...part, operations: ['Delete'], order: 'newest first' });
    const [deletion] = entries;
    const old = deletion === undefined ? undefined : decodeContent(deletion.content)?.metadata.uid;
    if (old !== undefined) this.newUids.set(old, uid);
  }

  private progress(): void {
    this.restore.progress(this.report);
  }
}

interface KeyedRevision {
  readonly resource: string;
  readonly key: string;
  readonly revision: number;
}

const refused = (reason: string, message: string): Written => ({ outcome: { kind: 'refused', reason, message } });

const idOf = ({ resource, key }: Pick<Candidate, 'resource' | 'key'>): string => `${resource}\0${key}`;

const oldUid = ({ content }: Candidate): string =>
  (content === undefined ? undefined : decodeContent(content)?.metadata.uid) ?? '';

function dependentOf(candidate: Candidate, api: StoredApi): Dependent | undefined {
  const { content } = candidate;
  if (content === undefined || content.unreadable !== undefined || !mayHaveOwners(content.bytes)) return undefined;
  const state = decodeContent(content);
  const owners = state === undefined ? [] : ownersOf(state).map(({ uid = '' }) => uid);
  return owners.length === 0 ? undefined : { uid: state?.metadata.uid ?? '', owners, candidate, api };
}

/** Reports whether the cluster makes an object in each namespace by itself. */
const isMadeByCluster = (resource: string, name: string): boolean =>
  (resource === 'serviceaccounts' && name === 'default') || (resource === 'configmaps' && name === 'kube-root-ca.crt');

/** Returns the version of a type in which the server's own clients see it. */
function apiOf(registry: ApiRegistry, type: GroupResource): StoredApi | undefined {
  const bundle = registry.bundleOf(type);
  const stored = (bundle?.apis ?? []).flatMap((api) => (api.kind === 'stored' ? api : []));
  return stored.find(({ served }) => served.version.name === served.type.storageVersion) ?? bundle?.hidden ?? stored[0];
}
