import { listObjects } from '../../registry/generic/list.js';
import { negotiateList, writeListResult } from './respond.js';
import { listOptions } from './request/list-options.js';
import { warnIfStale, whileAway } from './outage.js';
import { Query } from './request/query.js';
import type { RequestScope } from '../router/scope.js';
import { serveWatch } from './watch.js';

/** GET on a collection: a list, or a watch if the parameter `watch` is true. */
export async function listHandler(scope: RequestScope): Promise<void> {
  const { context, request, environment, served } = scope;
  const query = new Query(request.url ?? '');
  if (query.boolean('watch') === true) return serveWatch(scope, query);
  const sink = negotiateList(scope, query);
  const options = listOptions(query, served, context.info.name, environment.features.enabled('WatchList'));
  const allowed = options.resourceVersion === '' ? whileAway(scope, true) : undefined;
  const result = await listObjects(scope.store, context.info.namespace, { ...options, whileAway: allowed });
  warnIfStale(scope, allowed);
  await writeListResult(scope, sink, result);
}
