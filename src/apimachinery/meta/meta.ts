import { quote } from '../../go/quote.js';
import { type JsonObject, objectAt, textAt } from '../json/json.js';

export { quote, quoteList } from '../../go/quote.js';
export { escapeHtml, goJson } from '../json/go-json.js';
export { compareUtf8 } from '../../util/text/utf8.js';

export interface OwnerReference extends JsonObject {
  apiVersion?: string;
  kind?: string;
  name?: string;
  uid?: string;
  controller?: boolean;
  blockOwnerDeletion?: boolean;
}

export interface ManagedFieldsEntry extends JsonObject {
  manager?: string;
  operation?: string;
  apiVersion?: string;
  time?: string;
  fieldsType?: string;
  fieldsV1?: JsonObject;
  subresource?: string;
}

/** meta/v1 ObjectMeta, after the decoder has checked its types. */
export interface ObjectMeta extends JsonObject {
  name?: string;
  generateName?: string;
  namespace?: string;
  selfLink?: string;
  uid?: string;
  resourceVersion?: string;
  generation?: number;
  creationTimestamp?: string | null;
  deletionTimestamp?: string | null;
  deletionGracePeriodSeconds?: number;
  labels?: Record<string, string>;
  annotations?: Record<string, string>;
  ownerReferences?: OwnerReference[];
  finalizers?: string[];
  managedFields?: ManagedFieldsEntry[];
}

/** Any API object. After decoding, apiVersion, kind and metadata are present. */
export interface KubeObject extends JsonObject {
  apiVersion?: string;
  kind?: string;
  metadata: ObjectMeta;
}

/** Returns an object's name; empty if it has none. */
export const nameOf = (object: JsonObject): string => textAt(objectAt(object, 'metadata'), 'name');

/** Returns an object's namespace; empty if it has none. */
export const namespaceOf = (object: JsonObject): string => textAt(objectAt(object, 'metadata'), 'namespace');

/** Returns the group of the type that a definition defines. */
export const groupOf = (definition: JsonObject): string => textAt(objectAt(definition, 'spec'), 'group');

export interface GroupVersion {
  readonly group: string;
  readonly version: string;
}
export interface GroupKind {
  readonly group: string;
  readonly kind: string;
}
export interface GroupResource {
  readonly group: string;
  readonly resource: string;
}
export interface GroupVersionKind extends GroupVersion, GroupKind {}
export interface GroupVersionResource extends GroupVersion, GroupResource {}

/** `v1` for the core group, else `group/version`. */
export function formatGroupVersion(gv: GroupVersion): string {
  return gv.group === '' ? gv.version : `${gv.group}/${gv.version}`;
}

/** Parses a group version; undefined if the text has more than one slash. An empty text yields empty parts. */
export function parseGroupVersion(text: string): GroupVersion | undefined {
  const parts = text.split('/');
  if (parts.length > 2) return undefined;
  return parts.length === 1 ? { group: '', version: text } : { group: parts[0] ?? '', version: parts[1] ?? '' };
}

/** `pods`, or `widgets.example.com`, as messages name a resource. */
export function formatGroupResource(gr: GroupResource): string {
  return gr.group === '' ? gr.resource : `${gr.resource}.${gr.group}`;
}

/** `Pod`, or `Widget.example.com`. */
export function formatGroupKind(gk: GroupKind): string {
  return gk.group === '' ? gk.kind : `${gk.kind}.${gk.group}`;
}

/** Go's `%v` of a GroupVersionKind: `example.com/v1, Kind=Widget`; `/v1, Kind=Pod` in the core group. */
export function formatGroupVersionKind(gvk: GroupVersionKind): string {
  return `${gvk.group}/${gvk.version}, Kind=${gvk.kind}`;
}

/** metav1.Time: RFC 3339 in UTC with whole seconds. */
export function formatTime(millis: number): string {
  return `${new Date(millis).toISOString().slice(0, 19)}Z`;
}

/** metav1.MicroTime: RFC 3339 in UTC with six digits. */
export function formatMicroTime(millis: number): string {
  return `${new Date(millis).toISOString().slice(0, 23)}000Z`;
}

export function hasDeletionTimestamp(object: KubeObject): boolean {
  const at = object.metadata.deletionTimestamp;
  return at !== undefined && at !== null;
}

/** Returns the error message for an unknown kind, in Kubernetes' words. */
export const kindNotRegistered = (apiVersion: string, kind: string): string =>
  `no kind ${quote(kind)} is registered for version ${quote(apiVersion)} in scheme "pkg/runtime/scheme.go:111"`;

/** The scope of a type, as definitions name it. */
export type Scope = 'Namespaced' | 'Cluster';

export const scopeOf = ({ namespaced }: { readonly namespaced: boolean }): Scope =>
  namespaced ? 'Namespaced' : 'Cluster';
