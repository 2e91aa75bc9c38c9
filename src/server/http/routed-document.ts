import { newGenericNotFound, newMethodNotAllowed } from '../../apimachinery/meta/errors.js';
import type { Handler } from '../../endpoints/http.js';
import { checkProduced } from '../../endpoints/negotiation/media.js';
import type { ApiServer } from './api-server.js';

/** Registers a document the way kube-apiserver's router does: with any number of trailing slashes, for GET only, and in one media type. */
export function registerDocument(server: ApiServer, path: string, contentType: string, write: Handler): void {
  const handler: Handler = (context, request, response) => {
    if (/[^/]/.test(context.info.path.slice(path.length))) throw newGenericNotFound();
    if (request.method !== 'GET') throw newMethodNotAllowed();
    checkProduced(request.headers.accept, [contentType]);
    return write(context, request, response);
  };
  server.register(path, handler);
  server.registerPrefix(`${path}/`, handler);
}
