import { newGenericNotFound, newMethodNotAllowed } from '../../apimachinery/meta/errors.js';
import type { Handler } from '../../endpoints/http.js';
import { checkProduced } from '../../endpoints/negotiation/media.js';
import type { NonResourceRoutes } from './non-resource-routes.js';

/** Registers a document the way kube-apiserver's router does: with any number of trailing slashes, for GET only, and in one media type. */
export function registerDocument(routes: NonResourceRoutes, path: string, contentType: string, write: Handler): void {
  const handler: Handler = (context, request, response) => {
    if (/[^/]/.test(context.info.path.slice(path.length))) throw newGenericNotFound();
    if (request.method !== 'GET') throw newMethodNotAllowed();
    checkProduced(request.headers.accept, [contentType]);
    return write(context, request, response);
  };
  routes.register(path, handler);
  routes.registerPrefix(`${path}/`, handler);
}
