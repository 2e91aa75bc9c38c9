import type { KubeObject } from '../../apimachinery/meta/meta.js';
import type { RequestContext } from '../../request/context.js';

/**
 * A create-only type whose objects are never stored: reviews. The handler has decoded the object, set its namespace to the
 * request's ('' for cluster-scoped types), run admission and recorded managed fields. `create` resolves with the object to return
 * (201), which may be the given one, or throws an ApiError.
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
