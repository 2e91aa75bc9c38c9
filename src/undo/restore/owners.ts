import { type KubeObject, type OwnerReference, parseGroupVersion } from '../../apimachinery/meta/meta.js';
import { asBuffer } from '../../util/bytes.js';
import { decodeStored } from '../../storage/detached-object.js';
import type { ApiRegistry } from '../../registry/generic/store/api-registry.js';
import { textAt, objectAt } from '../../apimachinery/json/json.js';

const MEMBER = Buffer.from('"ownerReferences"');

/** Reports whether an object may have owners, without decoding it. */
export const mayHaveOwners = (bytes: Uint8Array): boolean => asBuffer(bytes).includes(MEMBER);

export const ownersOf = ({ metadata: { ownerReferences } }: KubeObject): readonly OwnerReference[] =>
  Array.isArray(ownerReferences) ? ownerReferences : [];

/** Tells whether the owner that a reference names exists; undefined if that cannot be told. */
export type OwnerLookup = (reference: OwnerReference, namespace: string) => Promise<boolean | undefined>;

/** Looks for owners among the types that the server serves. */
export function localOwners(registry: ApiRegistry): OwnerLookup {
  return async ({ apiVersion = '', kind = '', name = '', uid = '' }, namespace) => {
    const { group, version } = parseGroupVersion(apiVersion) ?? { group: '', version: '' };
    const resource = registry.resourceOfKind({ group, version, kind });
    const api = resource === undefined ? undefined : registry.lookup(group, version, resource);
    if (api?.kind !== 'stored') return undefined;
    const { store } = api;
    const stored = await store.getLatest(store.key(store.namespaced ? namespace : '', name));
    return stored !== undefined && textAt(objectAt(decodeStored(stored), 'metadata'), 'uid') === uid;
  };
}

/** The owner references of an object, after those of owners that were brought back got their new uids. */
export interface Remapped {
  readonly kept: readonly OwnerReference[];
  /** Those whose owner is gone. */
  readonly leftOut: readonly OwnerReference[];
}

export async function remapOwners(
  references: readonly OwnerReference[],
  namespace: string,
  newUids: ReadonlyMap<string, string>,
  exists: OwnerLookup,
): Promise<Remapped> {
  const kept: OwnerReference[] = [];
  const leftOut: OwnerReference[] = [];
  for (const reference of references) {
    const uid = newUids.get(reference.uid ?? '');
    if (uid !== undefined) kept.push({ ...reference, uid });
    else if ((await exists(reference, namespace)) === false) leftOut.push(reference);
    else kept.push(reference);
  }
  return { kept, leftOut };
}
