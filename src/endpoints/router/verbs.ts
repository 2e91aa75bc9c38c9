import type { MaybePromise } from '../../util/maybe-promise.js';
import { deleteCollectionHandler, deleteHandler } from '../handlers/delete.js';
import { createHandler } from '../handlers/create.js';
import { getHandler } from '../handlers/get.js';
import { listHandler } from '../handlers/list.js';
import { patchHandler } from '../handlers/patch.js';
import { updateHandler } from '../handlers/update.js';
import { watchHandler } from '../handlers/watch.js';
import type { RequestScope } from '../handlers/scope.js';
import { namesOneNamespace, type RequestInfo } from '../../request/request-info.js';

export type VerbHandler = (scope: RequestScope) => MaybePromise<void>;

/** The handlers of subresources that read and write the object itself: status, finalize, approval. */
export const SUBRESOURCE_VERBS: ReadonlyMap<string, VerbHandler> = new Map<string, VerbHandler>([
  ['get', getHandler],
  ['update', updateHandler],
  ['patch', patchHandler],
]);

/** The handlers of objects and collections. */
export const VERBS: ReadonlyMap<string, VerbHandler> = new Map<string, VerbHandler>([
  ...SUBRESOURCE_VERBS,
  ['list', listHandler],
  ['watch', watchHandler],
  ['watchlist', watchHandler],
  ['create', createHandler],
  ['delete', deleteHandler],
  ['deletecollection', deleteCollectionHandler],
]);

/** The verbs that are allowed across all namespaces of a namespaced type. */
export const ALL_NAMESPACES_VERBS: ReadonlySet<string> = new Set(['list', 'watch']);

/** Reports whether the path names a namespace although the type has none, or names none although the verb requires one. */
export const isMisplaced = ({ namespaced }: { readonly namespaced: boolean }, info: RequestInfo): boolean =>
  namespaced
    ? info.namespace === '' && !ALL_NAMESPACES_VERBS.has(info.verb)
    : info.namespace !== '' && !namesOneNamespace(info);
