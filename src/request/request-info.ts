/** The information in the path and method of a request (apiserver, endpoints/request). */
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
  /** The path segments, starting with the resource. */
  readonly parts: readonly string[];
  /** As given in the query of a list, watch or deletecollection. */
  readonly fieldSelector: string;
  readonly labelSelector: string;
}

/** Reports whether the path is one of namespaces. */
export const namesNamespaces = ({ resource }: RequestInfo): boolean => resource === 'namespaces';

/** Reports whether the path is that of one namespace, whose name is also the namespace of the request. */
export const namesOneNamespace = (info: RequestInfo): boolean => namesNamespaces(info) && info.namespace === info.name;
