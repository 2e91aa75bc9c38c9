import { newMethodNotAllowed } from '../../apimachinery/meta/errors.js';
import type { Lister, Watcher } from '../../registry/rest/storage.js';
import { negotiateList, writeListResult } from './respond.js';
import { askedOptions, echoApplied } from './request/list-options.js';
import { listDuringOutage, warnIfStale, whileAway } from './outage.js';
import { Query } from './request/query.js';
import type { KindScope } from './scope.js';
import { serveWatch } from './watch.js';

/** GET on a collection: a list, or a watch if the parameter `watch` is true. */
export async function listHandler(scope: KindScope<Lister | (Lister & Watcher)>): Promise<void> {
  const { context, request, storage } = scope;
  const query = new Query(request.url ?? '');
  if (query.boolean('watch') === true) {
    if (!('watch' in storage)) throw newMethodNotAllowed();
    return serveWatch({ ...scope, storage }, query);
  }
  const sink = negotiateList(scope, query);
  const options = askedOptions(scope, query, 'list');
  const allowed = options.resourceVersion === '' ? whileAway(scope, true) : undefined;
  const result = await storage.list(context, context.info.namespace, { ...options, whileAway: allowed });
  warnIfStale(scope, allowed);
  const { failures } = result.list;
  if (failures !== undefined && options.asked !== undefined) context.warn(options.asked.describe(failures));
  echoApplied(scope, options);
  await writeListResult(scope, sink, listDuringOutage(scope, result));
}
