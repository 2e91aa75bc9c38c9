import { objectsOf, textOf } from '../../apimachinery/json/values.js';
import { ClusterError } from '../cluster-client.js';
import { collections, nameOfCollection } from '../dependents.js';
import { type Cluster, eachMetadata } from './lists.js';

export interface ExternalDependentCounts {
  /** The number of objects owned by objects of the group, by `<plural>.<group>`. */
  readonly counts: Readonly<Record<string, number>>;
  /** Resources that could not be listed. */
  readonly unread: readonly string[];
}

/** Counts the objects outside a group that its objects own. Lists the metadata of all resources of the cluster. */
export async function countExternalDependents(cluster: Cluster, group: string): Promise<ExternalDependentCounts> {
  const counts: Record<string, number> = {};
  const unread: string[] = [];
  for (const collection of await collections(cluster, group)) {
    const name = nameOfCollection(collection);
    try {
      await eachMetadata(cluster, `${collection.groupVersion}/${collection.plural}`, (metadata) => {
        const owners = objectsOf(metadata['ownerReferences']);
        if (owners.some((owner) => textOf(owner['apiVersion']).startsWith(`${group}/`)))
          counts[name] = (counts[name] ?? 0) + 1;
      });
    } catch (error) {
      if (!(error instanceof ClusterError)) throw error;
      if (error.status !== 404 && error.status !== 405) unread.push(name);
    }
  }
  return { counts, unread };
}
