import { listObjects } from '../../registry/generic/list.js';
import { negotiateList, negotiateWatch, writeListResult } from './respond.js';
import { listOptions } from './request/list-options.js';
import { Query } from './request/query.js';
import type { RequestScope } from '../router/scope.js';
import { serveWatch } from './watch.js';

/** GET on a collection: a list, or a watch if the parameter `watch` is true. */
export async function listHandler(scope: RequestScope): Promise<void> {
  const { context, request, environment, served } = scope;
  const query = new Query(request.url ?? '');
  if (query.boolean('watch') === true) return watch(scope, query);
  const sink = negotiateList(scope, query);
  const options = listOptions(query, served, context.info.name, environment.features.enabled('WatchList'));
  const result = await listObjects(scope.store, context.info.namespace, options);
  await writeListResult(scope, sink, result);
}

/** GET on a collection with the verb watch, which the query or the path prefix /watch/ sets. */
export const watchHandler = (scope: RequestScope): Promise<void> => watch(scope, new Query(scope.request.url ?? ''));

async function watch(scope: RequestScope, query: Query): Promise<void> {
  const { context, environment, served } = scope;
  const sink = negotiateWatch(scope, query);
  const options = listOptions(query, served, context.info.name, environment.features.enabled('WatchList'));
  await serveWatch(scope, options, sink);
}
