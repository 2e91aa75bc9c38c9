/** What the path and method of a request say (apiserver, endpoints/request). */
export interface RequestInfo {
  readonly isResourceRequest: boolean;
  readonly path: string;
  /** `get`, `list`, `watch`, `create`, `update`, `patch`, `delete`, `deletecollection`, `proxy`; else the lower-case method. */
  verb: string;
  /** `api` or `apis`; empty for other paths. */
  readonly apiPrefix: string;
  readonly apiGroup: string;
  readonly apiVersion: string;
  readonly namespace: string;
  readonly resource: string;
  readonly subresource: string;
  name: string;
  /** Path segments from the resource on. */
  readonly parts: readonly string[];
  /** As given in the query, for list, watch and deletecollection. */
  readonly fieldSelector: string;
  readonly labelSelector: string;
}
