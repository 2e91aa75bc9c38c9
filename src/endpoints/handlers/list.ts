import { listObjects } from '../../registry/generic/list.js';
import { negotiateList, writeListResult } from './respond.js';
import { listOptions } from './request/list-options.js';
import { Query } from './request/query.js';
import type { RequestScope } from '../router/scope.js';
import { serveWatch } from './watch.js';

/** GET on a collection: a list, or a watch where `watch` asks for it. */
export async function listHandler(scope: RequestScope, forceWatch: boolean): Promise<void> {
  const { context, request, environment, served } = scope;
  const query = new Query(request.url ?? '');
  const watches = forceWatch || (query.boolean('watch') ?? false);
  const media = negotiateList(scope, query, watches);
  const options = listOptions(query, served, context.info.name, environment.features.enabled('WatchList'));
  if (watches) {
    await serveWatch(scope, options, media, query);
    return;
  }
  const result = await listObjects(scope.store, context.info.namespace, options);
  await writeListResult(scope, result, media, query);
}
