import { ApiError, newNotFound, newResourceExpired } from '../../apimachinery/meta/errors.js';
import { type KubeObject, parseGroupVersion } from '../../apimachinery/meta/meta.js';
import type { Authorizer } from '../../authorization/authorizer/interfaces.js';
import type { Getter, Lister, ListOptions, Watcher } from '../../registry/rest/storage.js';
import type { ApiRegistry } from '../../registry/generic/store/api-registry.js';
import type { RequestContext } from '../../request/context.js';
import { Slicer } from '../../scheduling/slicer.js';
import type { ObjectPredicate } from '../../storage/cacher/interfaces.js';
import { FailureTally, selects } from '../../storage/cacher/selections.js';
import { StorageError } from '../../storage/errors.js';
import { interpretStorageError } from '../../storage/interpret-error.js';
import type { KeptContent, KeptEntry, KeptHistory, KeptListOptions, Operation } from '../../storage/kept/interfaces.js';
import { isInternalType } from '../../storage/kept/policies.js';
import { ObjectList } from '../../storage/object-list.js';
import { parseResourceVersion } from '../../storage/resource-version.js';
import type { Type } from '../../structured-merge-diff/schema/schema.js';
import type { Clock } from '../../util/clock.js';
import { GROUP, revisionName, revisionOfName, typeOfName } from '../names.js';
import { changedFields, type ChangedFields } from './changed-fields.js';
import { type Page, pageOf, tokenOf } from './paging.js';
import { Readable } from './readers.js';
import { decodeContent, ShownRevision } from './shown-revision.js';
import { RevisionWatch } from './watch.js';

/** How many entries are read from the store at once. */
const CHUNK = 500;
/** The maximum number of revisions that are put into an order. */
const MAX_ORDERED = 100_000;

export interface RevisionsOptions {
  readonly kept: KeptHistory;
  readonly authorizer: Authorizer;
  readonly registry: Pick<ApiRegistry, 'lookup'>;
  readonly clock: Clock;
}

/** The revisions of the objects in namespaces, or of those that are in none. */
export class Revisions implements Getter, Lister, Watcher {
  constructor(
    private readonly options: RevisionsOptions,
    private readonly resource: 'objectrevisions' | 'clusterobjectrevisions',
  ) {}

  get: Getter['get'] = async (context, namespace, name) => {
    const missing = newNotFound({ group: GROUP, resource: this.resource }, name);
    const revision = revisionOfName(name);
    if (revision === undefined) throw missing;
    const { kept, authorizer } = this.options;
    const prefix = prefixOf(namespace);
    const { entries } = await kept.list({ ...WHOLE, prefix, after: revision - 1, upTo: revision, limit: CHUNK });
    const entry = entries.find((one) => this.isOwn(one, namespace) && revisionName(one) === name);
    if (entry === undefined) throw missing;
    if (!(await new Readable(authorizer, context).mayGet(entry.resource, entry.key))) throw missing;
    return this.shown(entry, true);
  };

  list: Lister['list'] = async (context, namespace, options) => {
    try {
      return await this.listed(context, namespace, options);
    } catch (error) {
      throw interpretStorageError(error, 'list', options.resourceVersion);
    }
  };

  watch: Watcher['watch'] = async (context, namespace, options, receiver) => {
    const { kept, clock, authorizer } = this.options;
    const watch = new RevisionWatch({
      clock,
      receiver,
      read: (after) => this.after(context, namespace, options.predicate, after, new Readable(authorizer, context)),
      newest: async () => (await kept.list({ ...WHOLE, after: 0, upTo: 0, limit: 1, order: 'newest first' })).revision,
    });
    const given = parseResourceVersion(options.resourceVersion);
    const initial = options.sendInitialEvents ?? given === 0;
    await watch.start(initial ? 0 : given, options.sendInitialEvents === true && options.allowWatchBookmarks);
    return watch;
  };

  private async listed(
    context: RequestContext,
    namespace: string,
    options: ListOptions,
  ): Promise<Awaited<ReturnType<Lister['list']>>> {
    const { predicate, order } = options;
    const page = pageOf(options);
    const search = new Search(this, context, namespace, predicate, this.options);
    const all = order !== undefined || options.exactCount === true;
    const wanted = all || options.limit === 0 ? Infinity : options.limit + 1;
    let found = await search.find(order === undefined ? page.after : 0, page.revision, wanted);
    if (page.revision > search.revision && page.wasGiven)
      throw new StorageError('too-large', 'the revision is still to come', {
        revision: page.revision,
        current: search.revision,
      });
    if (order !== undefined) {
      const keys = new Map(found.map((one) => [one, order.keyOf(one)]));
      found.sort((a, b) => Buffer.compare(keys.get(a) ?? EMPTY, keys.get(b) ?? EMPTY) || compareNames(a, b));
      found = afterName(found, page);
    }
    const items = options.limit === 0 ? found : found.slice(0, options.limit);
    const left = found.length - items.length;
    const last = left > 0 ? items.at(-1) : undefined;
    const remaining = options.exactCount === true && left > 0 ? left : undefined;
    const revision = page.revision === 0 ? search.revision : page.revision;
    const list = new ObjectList(revision, items, last?.key, { failures: search.tally.failures, remaining });
    return {
      list,
      resourceVersion: revision,
      continue: last === undefined ? '' : tokenOf(revision, last, options),
      remainingItemCount: remaining,
    };
  }

  /** Returns the revisions after one that a watch shows, and the revision up to which there are no others. */
  private async after(
    context: RequestContext,
    namespace: string,
    predicate: ObjectPredicate,
    after: number,
    readable: Readable,
  ): Promise<{ readonly found: readonly ShownRevision[]; readonly revision: number }> {
    const search = new Search(this, context, namespace, predicate, this.options, readable);
    const found = await search.find(after, 0, Infinity);
    return { found, revision: search.revision };
  }

  get clusterScoped(): boolean {
    return this.resource === 'clusterobjectrevisions';
  }

  /** Reports whether an entry is of this kind, and of a type that clients may know of. */
  isOwn({ resource, key }: KeptEntry, namespace: string): boolean {
    if (isInternalType(resource)) return false;
    const slash = key.indexOf('/');
    if (this.clusterScoped) return slash < 0;
    return slash > 0 && (namespace === '' || key.slice(0, slash) === namespace);
  }

  /** Returns a revision as clients see it. `before`: the state before, if the caller has it. */
  async shown(entry: KeptEntry, whole: boolean, before?: KubeObject): Promise<ShownRevision> {
    const content = decodeContent(entry.content);
    return new ShownRevision(entry, { content, changed: await this.changes(entry, content, before), whole });
  }

  private async changes(
    { operation, resource, key, previous }: KeptEntry,
    content: KubeObject | undefined,
    known: KubeObject | undefined,
  ): Promise<ChangedFields | undefined> {
    if (operation !== 'Update' || content === undefined || previous === 0) return undefined;
    const state = known === undefined ? await this.options.kept.content(resource, key, previous) : undefined;
    const before = known ?? (state === undefined ? undefined : decodeContent(state));
    return before === undefined ? undefined : changedFields(before, content, this.mergeType(resource, content));
  }

  private mergeType(resource: string, { apiVersion = '', kind = '' }: KubeObject): Type | undefined {
    const { group, version } = parseGroupVersion(apiVersion) ?? { group: '', version: '' };
    const api = this.options.registry.lookup(group, version, typeOfName(resource).resource);
    return api?.kind === 'stored' ? api.served.admission.mergeType({ group, version, kind }) : undefined;
  }
}

const EMPTY = Buffer.alloc(0);

const WHOLE: KeptListOptions = {
  resource: undefined,
  prefix: '',
  after: 0,
  upTo: 0,
  order: 'oldest first',
  limit: CHUNK,
};

const prefixOf = (namespace: string): string => (namespace === '' ? '' : `${namespace}/`);

const compareNames = (a: ShownRevision, b: ShownRevision): number => (a.key < b.key ? -1 : a.key > b.key ? 1 : 0);

/** Returns the objects behind the last one of the page before. */
function afterName(found: readonly ShownRevision[], { name }: Page): ShownRevision[] {
  if (name === '') return [...found];
  const at = found.findIndex(({ attributes }) => attributes.fields['metadata.name'] === name);
  if (at < 0)
    throw newResourceExpired('The provided continue parameter is too old to display a consistent list result.');
  return found.slice(at + 1);
}

/** Finds the revisions that a request selects and its user may see. */
class Search {
  /** The newest revision that was looked at. */
  revision = 0;
  readonly tally = new FailureTally();
  private readonly slicer: Slicer;
  private readonly part: KeptListOptions;
  /** The last states seen, by key: each is the one before that of the object's next entry. */
  private readonly states = new Map<string, { readonly revision: number; readonly content: KeptContent }>();

  constructor(
    private readonly kind: Revisions,
    private readonly context: RequestContext,
    private readonly namespace: string,
    private readonly predicate: ObjectPredicate,
    private readonly options: RevisionsOptions,
    private readonly readable = new Readable(options.authorizer, context),
  ) {
    this.slicer = new Slicer(options.clock, context.user.name);
    this.part = { ...WHOLE, ...partOf(namespace, predicate, kind.clusterScoped) };
  }

  /** Returns up to `wanted` revisions after one, up to another (0: the newest), oldest first. */
  async find(after: number, upTo: number, wanted: number): Promise<ShownRevision[]> {
    const found: ShownRevision[] = [];
    for (let from = after, end = upTo; ;) {
      const { entries, revision, more } = await this.options.kept.list({ ...this.part, after: from, upTo: end });
      if (end === 0) end = revision;
      this.revision = Math.max(this.revision, revision);
      for (const entry of entries) {
        const shown = await this.selected(entry);
        if (shown !== undefined) found.push(shown);
        if (found.length >= wanted) return found;
        if (found.length > MAX_ORDERED)
          throw new ApiError(413, 'RequestEntityTooLarge', `more than ${String(MAX_ORDERED)} revisions; set a limit`);
        if (this.slicer.isExhausted) {
          this.context.cancellation.throwIfAborted();
          await this.slicer.yield();
        }
      }
      const last = entries.at(-1);
      if (!more || last === undefined) return found;
      from = last.revision;
    }
  }

  private async selected(entry: KeptEntry): Promise<ShownRevision | undefined> {
    if (!this.kind.isOwn(entry, this.namespace)) return undefined;
    if (!(await this.readable.mayGet(entry.resource, entry.key))) return undefined;
    const id = `${entry.resource}\0${entry.key}`;
    const before = this.states.get(id);
    const known = before?.revision === entry.previous ? decodeContent(before.content) : undefined;
    // Only one object's states are kept: a list of many objects would keep as many.
    if (this.part.key !== undefined) this.states.set(id, { revision: entry.revision, content: entry.content });
    const shown = await this.kind.shown(entry, false, known);
    return this.matches(shown) ? shown : undefined;
  }

  private matches(shown: ShownRevision): boolean {
    const { predicate } = this;
    const { condition } = predicate;
    if (condition === undefined) return selects(predicate, shown);
    return selects(condition.selectors, shown) && this.tally.counted(condition.of.matches(shown), shown);
  }
}

/** Returns the part of the history that can have what a predicate selects. */
function partOf(
  namespace: string,
  { field, namespace: selected }: ObjectPredicate,
  clusterScoped: boolean,
): Partial<KeptListOptions> {
  const resource = field?.('object.resource');
  const of = field?.('object.name');
  const operation = field?.('operation');
  const within = namespace === '' ? (selected ?? field?.('object.namespace') ?? '') : namespace;
  const prefix = prefixOf(within);
  return {
    prefix,
    ...(resource !== undefined && { resource }),
    // Without a namespace, a name alone is not a key.
    ...(resource !== undefined && of !== undefined && (clusterScoped || prefix !== '') && { key: `${prefix}${of}` }),
    ...(isOperation(operation) && { operations: [operation] }),
  };
}

const isOperation = (text: string | undefined): text is Operation =>
  text === 'Create' || text === 'Update' || text === 'Delete';
