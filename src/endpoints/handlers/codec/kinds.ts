import { type DetailedJson, JsonError } from '../../../apimachinery/json/decode.js';
import { type GroupVersionKind, kindNotRegistered, parseGroupVersion, quote } from '../../../apimachinery/meta/meta.js';
import { builtinSchema } from '../../../apimachinery/scheme/builtin-schema.js';
import { isRegistered, isRegisteredInternally } from '../../../apimachinery/scheme/registered-kinds.js';
import type { Decodable } from './codec.js';

/** Returns why an object of another type than the path's is rejected: a known type cannot be converted, an unknown one is not registered. */
export function kindMismatch(
  served: Pick<Decodable, 'gvk'>,
  groupVersion: string,
  kind: string,
  json: DetailedJson,
): string {
  const gv = parseGroupVersion(groupVersion) ?? { group: '', version: groupVersion };
  const { group } = served.gvk;
  const registered = isRegistered(group, { ...gv, kind });
  if (!registered && !isMetaKind(gv, kind)) return kindNotRegistered(groupVersion, kind);
  return (
    (registered ? decodeErrorAs({ ...gv, kind }, json) : undefined) ??
    unknownConversion(`${gv.version}.${kind}`, served)
  );
}

/** Returns the group of the internal type; both groups of events use core's. */
const internalGroup = ({ group }: GroupVersionKind): string => (group === 'events.k8s.io' ? '' : group);

const internalPackage = (gvk: GroupVersionKind): string => (internalGroup(gvk) || 'core').split('.')[0] ?? '';

const unknownConversion = (from: string, { gvk }: Pick<Decodable, 'gvk'>): string =>
  `converting (${from}) to (${internalPackage(gvk)}.${gvk.kind}): unknown conversion`;

/** Like kindMismatch, for an object without a version, which is decoded as the group's internal version. */
export function internalMismatch(served: Pick<Decodable, 'gvk'>, kind: string, json: DetailedJson): string {
  const group = internalGroup(served.gvk);
  if (kind === 'WatchEvent') return unknownConversion('v1.InternalEvent', served);
  if (UNVERSIONED.has(kind))
    return decodeErrorAs({ group: '', version: 'v1', kind }, json) ?? unknownConversion(`v1.${kind}`, served);
  if (!isRegisteredInternally({ ...served.gvk, group }, kind))
    return `no kind ${quote(kind)} is registered for the internal version of group ${quote(group)} in scheme "pkg/runtime/scheme.go:111"`;
  return unknownConversion(`${internalPackage(served.gvk)}.${kind}`, served);
}

/** Returns the error of decoding an object as its own type, which precedes conversion; undefined if it decodes. */
function decodeErrorAs(gvk: GroupVersionKind, json: DetailedJson): string | undefined {
  try {
    builtinSchema(gvk)?.decode(json);
    return undefined;
  } catch (error) {
    if (error instanceof JsonError) return error.message;
    throw error;
  }
}

/** Kinds registered in every version of every group. */
export const OPTIONS: ReadonlySet<string> = new Set([
  'ListOptions',
  'GetOptions',
  'DeleteOptions',
  'CreateOptions',
  'UpdateOptions',
  'PatchOptions',
  'WatchEvent',
]);
/** Kinds registered only in v1, for all groups. */
export const UNVERSIONED = new Set(['Status', 'APIVersions', 'APIGroup', 'APIGroupList', 'APIResourceList']);

const isMetaKind = (gv: { readonly group?: string; readonly version: string }, kind: string): boolean =>
  (gv.group ?? '') === '' && gv.version === 'v1' && (OPTIONS.has(kind) || UNVERSIONED.has(kind));

/** Reports whether a kind is registered in a version of a group, or in every group. */
export const isKnownKind = (
  ofGroup: string,
  gv: { readonly group: string; readonly version: string },
  kind: string,
): boolean => isRegistered(ofGroup, { ...gv, kind }) || isMetaKind(gv, kind);
