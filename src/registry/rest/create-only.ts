import type { KubeObject } from '../../apimachinery/meta/meta.js';
import type { RequestContext } from '../../request/context.js';

/**
 * A type that is only created and never stored: reviews. The handler has decoded the object, set its namespace to that of the
 * request ('' for cluster-scoped types), passed admission and noted managed fields; `create` answers with the object to be
 * returned (201), which may be the one given, or throws an ApiError.
 */
export interface CreateOnlyType {
  readonly group: string;
  readonly version: string;
  readonly resource: string;
  readonly singular: string;
  readonly kind: string;
  readonly namespaced: boolean;
  create(context: RequestContext, object: KubeObject, namespace: string): Promise<KubeObject>;
}
