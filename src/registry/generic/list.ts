import { ApiError, newBadRequest, newResourceExpired } from '../../apimachinery/meta/errors.js';
import {
  type ContinueToken,
  ContinueTokenError,
  decodeContinueToken,
  digestOf,
  encodeContinueToken,
} from '../../storage/continue-token.js';
import { StorageError } from '../../storage/errors.js';
import type { CachedList, ReadAt } from '../../storage/cacher/interfaces.js';
import type { ListOptions, ListResult } from '../rest/storage.js';
import { handoverReason } from './handover.js';
import { interpretStorageError } from '../../storage/interpret-error.js';
import { parseListResourceVersion } from '../../storage/resource-version.js';
import type { ResourceStore } from './store/resource-store.js';

const OF_ANOTHER_LIST =
  'continue key is not valid: the token belongs to another list; each page is asked for with the parameters of the first';
const CONTINUE_EXPIRED =
  'The provided continue parameter is too old to display a consistent list result. You can start a new list without the continue parameter';
const OR_INCONSISTENT =
  ', or use the continue token in this response to retrieve the remainder of the results. Continuing with the provided token results in an inconsistent list - objects that were created, modified, or deleted between the time the first chunk was returned and now may show up in the list.';

/** The state that a list reads and the key that it starts from. */
interface ListStart {
  readonly at: ReadAt;
  readonly from: string;
  /** Set if the list was begun in another log, so that its state is no longer available. A token of kube-apiserver names no log. */
  readonly otherLog?: 'named' | 'unnamed' | undefined;
}

/** Whom a list is for. */
interface ListingFor {
  /** The user. */
  readonly flow?: string | undefined;
  readonly signal?: AbortSignal | undefined;
  readonly watchesEnd?: AbortSignal | undefined;
}

/**
 * Lists a namespace, or all namespaces if it is '', at the state that the request asks for. `watchesEnd` aborts with a HandoverReason
 * when another server is about to serve the type.
 */
export async function listObjects(
  store: ResourceStore,
  namespace: string,
  request: ListOptions,
  { watchesEnd, flow, signal }: ListingFor = {},
): Promise<ListResult> {
  const { logId } = store.cache;
  const start = resolveList(request, logId);
  if (start.otherLog === 'named') throw continueExpired(start.from, request);
  const within = namespace === '' ? (request.predicate.namespace ?? '') : namespace;
  const prefix = store.namespaced && within !== '' ? `${within}/` : '';
  // The key in a token is relative to the request's own collection, so that a token cannot reach objects outside it.
  const scope = store.namespaced && namespace !== '' ? `${namespace}/` : '';
  const list = await read(store, start, { prefix, scope }, request, { flow, signal });
  // The read fails as in kube-apiserver if the revision is still to come, which no server has given out.
  if (start.otherLog === 'unnamed') throw continueExpired(start.from, request);
  const { since = list.revision } = handoverReason(watchesEnd) ?? {};
  const resourceVersion = Math.min(list.revision, since);
  const { shard } = request.predicate;
  if (list.lastKey === undefined) return { list, resourceVersion, continue: '', remainingItemCount: undefined, shard };
  // In kube-apiserver the key starts with a slash in tokens of the cache, but not in those of the store. Both are accepted.
  const key = `${store.type.uncached === true ? '' : '/'}${list.lastKey.slice(scope.length)}`;
  const startKey = request.order === undefined ? `${key}\0` : key;
  return {
    list,
    resourceVersion,
    shard,
    continue: encodeContinueToken(bound({ revision: list.revision, log: logId, startKey }, request)),
    remainingItemCount: request.predicate.everything || request.exactCount === true ? list.remaining : undefined,
  };
}

/** Binds a token to the list that it belongs to, if that has an expression. */
function bound(token: ContinueToken, { bound: list }: ListOptions): ContinueToken {
  if (list === undefined) return token;
  return { ...token, bound: { now: list.now, sum: digestOf(list.to, canonical(token), list.now) } };
}

/** Throws a 400 if a token belongs to another list. */
function checkBound(token: ContinueToken, { bound: list }: ListOptions): void {
  const wanted = list && digestOf(list.to, canonical(token), list.now);
  if (token.bound?.sum !== wanted) throw newBadRequest(OF_ANOTHER_LIST);
}

const canonical = ({ startKey, ...token }: ContinueToken): ContinueToken => ({
  ...token,
  startKey: startKey.startsWith('/') ? startKey.slice(1) : startKey,
});

/**
 * Resolves the resourceVersion of a list (specification, List and get semantics). `log` identifies the log that the type's
 * revisions belong to.
 */
function resolveList(request: ListOptions, log: string | undefined): ListStart {
  if (request.continue !== '') return resolveContinue(request, log);
  const revision = parseListResourceVersion(request.resourceVersion);
  const given = request.resourceVersion !== '';
  if (!given) return { at: { mode: 'most-recent' }, from: '' };
  if (request.resourceVersionMatch === 'Exact') {
    return { at: revision === 0 ? { mode: 'most-recent' } : { mode: 'exact', revision }, from: '' };
  }
  if (revision === 0) return { at: { mode: 'any' }, from: '' };
  // Without a match, a limit makes the version exact: later pages must agree with the first. A single object has no pages.
  const paged = request.limit > 0 && request.predicate.name === undefined;
  if (request.resourceVersionMatch === '' && paged) return { at: { mode: 'exact', revision }, from: '' };
  return { at: { mode: 'not-older-than', revision }, from: '' };
}

function resolveContinue(request: ListOptions, log: string | undefined): ListStart {
  try {
    const token = decodeContinueToken(request.continue);
    checkBound(token, request);
    if (request.resourceVersion !== '' && request.resourceVersion !== '0') {
      throw newBadRequest('specifying resource version is not allowed when using continue');
    }
    const at: ReadAt = token.revision > 0 ? { mode: 'exact', revision: token.revision } : { mode: 'most-recent' };
    // A client that continues at the newest state has accepted an inconsistent list, whichever log the list was begun in.
    const isOther = token.revision > 0 && token.log !== log;
    const otherLog = isOther ? (token.log === undefined ? 'unnamed' : 'named') : undefined;
    return { at, from: token.startKey, otherLog };
  } catch (error) {
    if (error instanceof ContinueTokenError) throw newBadRequest(`invalid continue token: ${error.message}`);
    throw error;
  }
}

async function read(
  store: ResourceStore,
  start: ListStart,
  { prefix, scope }: { readonly prefix: string; readonly scope: string },
  request: ListOptions,
  { flow, signal }: ListingFor,
): Promise<CachedList> {
  try {
    if (start.at.mode === 'exact' && start.at.revision < store.createdRevision) {
      throw new StorageError('compacted', `the type did not exist at revision ${String(start.at.revision)}`, {
        revision: start.at.revision,
        current: store.createdRevision,
      });
    }
    // For uncached types, and for single objects at a revision, kube-apiserver reads etcd, which does not wait for a future
    // revision.
    const single = request.predicate.name !== undefined && (prefix !== '' || !store.namespaced);
    const atOnce = store.type.uncached === true || (single && start.at.mode === 'exact');
    const revised = start.at.mode === 'exact' || start.at.mode === 'not-older-than';
    const { whileAway } = request;
    const recent = start.at.mode === 'most-recent' && whileAway !== undefined ? { ...start.at, whileAway } : start.at;
    const at = revised && atOnce ? { ...start.at, atOnce } : recent;
    const { predicate, order, exactCount } = request;
    return await store.cache.list(at, {
      prefix,
      from: start.from === '' ? '' : scope + start.from,
      // A list at any state ("0") is not paged, as in kube-apiserver.
      limit: request.resourceVersion === '0' ? 0 : request.limit,
      predicate,
      order,
      exactCount,
      clusterScoped: !store.namespaced,
      flow,
      signal,
    });
  } catch (error) {
    if (error instanceof StorageError && error.code === 'compacted' && request.continue !== '') {
      throw continueExpired(start.from, request);
    }
    throw interpretStorageError(error, 'list', request.resourceVersion);
  }
}

/** Returns a 410 whose token continues at the newest state, for clients that accept an inconsistent list. */
function continueExpired(from: string, request: ListOptions): ApiError {
  // The place in an order is known only at the revision of the list.
  if (request.order !== undefined) return newResourceExpired(CONTINUE_EXPIRED);
  const { code, reason, message } = newResourceExpired(CONTINUE_EXPIRED + OR_INCONSISTENT);
  return new ApiError(code, reason, message, undefined, {
    continue: encodeContinueToken(bound({ revision: -1, startKey: from }, request)),
  });
}
