import { type JsonObject, objectsOf, stringsOf, textOf } from '../apimachinery/json/json.js';
import { objectAt } from '../apimachinery/json/json.js';
import { eachMetadata } from './lists.js';
import { type ClusterClient, ClusterError } from './cluster-client.js';

/** The maximum number of dependents that messages name. */
const EXAMPLES = 5;

/** All objects of one resource in one version. */
export interface DependentCollection {
  /** `/api/v1` */
  readonly groupVersion: string;
  readonly group: string;
  readonly plural: string;
}

export interface Dependent {
  readonly collection: DependentCollection;
  readonly metadata: JsonObject;
}

export interface Dependents {
  /** Objects that the garbage collector would delete. */
  readonly objects: readonly Dependent[];
  /** The collections with objects owned by any object of the group, and how many there are. */
  readonly collections: ReadonlyMap<DependentCollection, number>;
  /** The collections that could not be listed. */
  readonly unread: readonly DependentCollection[];
}

/** Returns a name such as `configmaps default/child`. */
export function nameOfDependent({ collection, metadata }: Dependent): string {
  const namespace = textOf(metadata['namespace']);
  return `${nameOfCollection(collection)} ${namespace === '' ? '' : `${namespace}/`}${textOf(metadata['name'])}`;
}

export const nameOfCollection = ({ plural, group }: DependentCollection): string =>
  group === '' ? plural : `${plural}.${group}`;

export function pathOfDependent({ collection: { groupVersion, plural }, metadata }: Dependent): string {
  const namespace = textOf(metadata['namespace']);
  const scope = namespace === '' ? '' : `/namespaces/${encodeURIComponent(namespace)}`;
  return `${groupVersion}${scope}/${plural}/${encodeURIComponent(textOf(metadata['name']))}`;
}

export const ownersOf = (metadata: JsonObject): JsonObject[] => objectsOf(metadata['ownerReferences']);

/**
 * Returns the objects outside a group that are owned by objects with the given UIDs. Lists the metadata of all resources of the cluster, or
 * only of the given collections.
 */
export async function dependentsOf(
  client: Pick<ClusterClient, 'call' | 'metadata'>,
  group: string,
  uids: ReadonlySet<string>,
  among?: readonly DependentCollection[],
): Promise<Dependents> {
  const objects: Dependent[] = [];
  const found = new Map<DependentCollection, number>();
  const unread: DependentCollection[] = [];
  for (const collection of among ?? (await collections(client, group))) {
    try {
      let owned = 0;
      await eachMetadata(client, `${collection.groupVersion}/${collection.plural}`, (metadata) => {
        const owners = ownersOf(metadata);
        if (owners.some((owner) => textOf(owner['apiVersion']).startsWith(`${group}/`))) owned++;
        if (owners.some((owner) => uids.has(textOf(owner['uid'])))) objects.push({ collection, metadata });
      });
      if (owned > 0) found.set(collection, owned);
    } catch (error) {
      if (!(error instanceof ClusterError)) throw error;
      // Not served, or not listable: nothing is owned there.
      if (error.status !== 404 && error.status !== 405) unread.push(collection);
    }
  }
  return { objects, collections: found, unread };
}

/** Explains why a group stays with Annex. */
export function dependentsText({ objects, unread }: Dependents): string {
  if (objects.length > 0)
    return `${objects.length} objects outside the group are owned by objects that were created in Annex and would be deleted: ${objects.slice(0, EXAMPLES).map(nameOfDependent).join(', ')}. Set spec.dependents to Repoint or Abandon, or remove their ownerReferences`;
  return `Annex may not list ${unread.slice(0, EXAMPLES).map(nameOfCollection).join(', ')}${unread.length > EXAMPLES ? ` and ${unread.length - EXAMPLES} more` : ''}: objects there that are owned by objects created in Annex would be deleted. annex release searches with your permissions; or set spec.dependents: Abandon`;
}

/** Returns every listable resource in the preferred version of its group, except events and the group itself. */
async function collections(client: Pick<ClusterClient, 'call'>, group: string): Promise<DependentCollection[]> {
  const { body } = await client.call('GET', '/apis');
  const versions = [
    { groupVersion: '/api/v1', group: '' },
    ...objectsOf(body['groups']).map((one) => ({
      groupVersion: `/apis/${textOf(objectAt(one, 'preferredVersion')?.['groupVersion'])}`,
      group: textOf(one['name']),
    })),
  ];
  const found: DependentCollection[] = [];
  for (const version of versions) {
    if (version.group === group || version.group === 'events.k8s.io') continue;
    const { status, body: list } = await client.call('GET', version.groupVersion);
    if (status !== 200) {
      found.push({ ...version, plural: '*' });
      continue;
    }
    for (const resource of objectsOf(list['resources'])) {
      const plural = textOf(resource['name']);
      const isEvent = version.group === '' && plural === 'events';
      if (isEvent || plural.includes('/') || !stringsOf(resource['verbs']).includes('list')) continue;
      found.push({ ...version, plural });
    }
  }
  return found;
}
