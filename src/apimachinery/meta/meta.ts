import { strayByte, wellFormed } from '../../util/text/utf8.js';
import { Float, type JsonObject, type JsonValue, objectAt, textAt } from '../json/json.js';

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

/** Go's `%q` of a string, for messages: like JSON, but non-printable characters as Go escapes them. */
export function quote(text: string): string {
  if (PLAIN.test(text)) return `"${text}"`;
  let out = '"';
  let start = 0;
  for (let i = 0; i < text.length; i++) {
    const unit = text.charCodeAt(i);
    if (unit >= 0x20 && unit < 0x7f && unit !== 0x22 && unit !== 0x5c) continue;
    if (i > start) out += text.slice(start, i);
    const code = unit < 0xd800 ? unit : (text.codePointAt(i) ?? 0);
    out += escapes[unit < 0x80 ? unit : (strayByte(unit) ?? -1)] ?? quotedCharacter(code);
    if (code > 0xffff) i++;
    start = i + 1;
  }
  return `${out}${text.slice(start)}"`;
}

/** Returns a character beyond ASCII as it is if it can be printed, else escaped. */
function quotedCharacter(code: number): string {
  const char = String.fromCodePoint(code);
  if (/[\p{L}\p{M}\p{N}\p{P}\p{S}]/u.test(char)) return char;
  return code < 0x10000 ? `\\u${code.toString(16).padStart(4, '0')}` : `\\U${code.toString(16).padStart(8, '0')}`;
}

const NAMED: Readonly<Record<number, string>> = {
  7: '\\a',
  8: '\\b',
  9: '\\t',
  10: '\\n',
  11: '\\v',
  12: '\\f',
  13: '\\r',
  0x22: '\\"',
  0x5c: '\\\\',
};
/** The escapes of ASCII characters and of bytes that are not UTF-8, by byte. */
const escapes: readonly (string | undefined)[] = Array.from({ length: 0x100 }, (_, byte) =>
  byte >= 0x20 && byte < 0x7f ? NAMED[byte] : (NAMED[byte] ?? `\\x${byte.toString(16).padStart(2, '0')}`),
);

/** Text that is quoted as it is. */
const PLAIN = /^[ !#-[\]-~]*$/;

/** Go's `%q` of a list of strings: `["a" "b"]`. */
export const quoteList = (texts: readonly string[]): string => `[${texts.map(quote).join(' ')}]`;

/** The value's JSON text as Go's encoding/json prints it: keys of maps sorted, `<`, `>`, `&` and U+2028/9 escaped. */
export function goJson(value: JsonValue | undefined): string {
  if (value === undefined || value === null) return 'null';
  if (typeof value === 'string') return goJsonString(value);
  if (typeof value !== 'object') return String(value);
  if (Array.isArray(value)) return `[${value.map(goJson).join(',')}]`;
  if (value instanceof Float) return Object.is(Number(value), -0) ? '-0' : String(value);
  const members = Object.keys(value)
    .filter((key) => value[key] !== undefined)
    .sort(compareUtf8);
  return `{${members.map((key) => `${goJsonString(key)}:${goJson(value[key])}`).join(',')}}`;
}

function goJsonString(text: string): string {
  return escapeHtml(JSON.stringify(wellFormed(text)));
}

/** Escapes JSON text for HTML, as Go does. */
export const escapeHtml = (json: string): string =>
  json.replace(/[<>&\u2028\u2029]/g, (c) => `\\u${c.charCodeAt(0).toString(16).padStart(4, '0')}`);

/** Compares two strings by their UTF-8 bytes, which is the order of Go and of the stores. */
export function compareUtf8(a: string, b: string): number {
  const length = Math.min(a.length, b.length);
  for (let i = 0; i < length; i++) {
    const x = a.charCodeAt(i);
    const y = b.charCodeAt(i);
    if (x === y) continue;
    // Surrogates encode code points above the basic multilingual plane.
    const surrogateX = x >= 0xd800 && x <= 0xdfff;
    const surrogateY = y >= 0xd800 && y <= 0xdfff;
    if (surrogateX !== surrogateY) return surrogateX ? 1 : -1;
    return x - y;
  }
  return a.length - b.length;
}

/** Returns the error message for an unknown kind, in Kubernetes' words. */
export const kindNotRegistered = (apiVersion: string, kind: string): string =>
  `no kind ${quote(kind)} is registered for version ${quote(apiVersion)} in scheme "pkg/runtime/scheme.go:111"`;

/** The scope of a type, as definitions name it. */
export type Scope = 'Namespaced' | 'Cluster';

export const scopeOf = ({ namespaced }: { readonly namespaced: boolean }): Scope =>
  namespaced ? 'Namespaced' : 'Cluster';
