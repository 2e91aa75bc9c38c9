import { dependentsOf, nameOfCollection } from '../dependents.js';
import type { Cluster } from './lists.js';

export interface ExternalDependentCounts {
  /** The number of objects owned by objects of the group, by `<plural>.<group>`. */
  readonly counts: Readonly<Record<string, number>>;
  /** Resources that could not be listed. */
  readonly unread: readonly string[];
}

/** Counts the objects outside a group that its objects own. Lists the metadata of all resources of the cluster. */
export async function countExternalDependents(cluster: Cluster, group: string): Promise<ExternalDependentCounts> {
  const { collections, unread } = await dependentsOf(cluster, group, new Set());
  return {
    counts: Object.fromEntries([...collections].map(([collection, owned]) => [nameOfCollection(collection), owned])),
    unread: unread.map(nameOfCollection),
  };
}
