import { objectAt } from '../apimachinery/json/json.js';
import { objectsOf, textOf, textsOf } from '../apimachinery/json/values.js';
import { type ClusterClient, ClusterError } from './cluster-client.js';

const PAGE = 500;
/** Number of dependents that messages name. */
const EXAMPLES = 5;

export interface Dependents {
  /** `configmaps default/child`, of objects that the garbage collector would delete. */
  readonly objects: readonly string[];
  /** Resources that could not be listed, `<plural>.<group>`. */
  readonly unread: readonly string[];
}

/**
 * The objects outside of a group that are owned by objects of the given uids: all resources of the cluster are listed, their metadata
 * alone.
 */
export async function dependentsOf(
  client: Pick<ClusterClient, 'call' | 'metadata'>,
  group: string,
  uids: ReadonlySet<string>,
): Promise<Dependents> {
  const objects: string[] = [];
  const unread: string[] = [];
  for (const { path, name } of await collections(client, group)) {
    try {
      for (let token = ''; ;) {
        const more = token === '' ? '' : `&continue=${encodeURIComponent(token)}`;
        const page = await client.metadata(`${path}?limit=${PAGE}${more}`);
        for (const item of objectsOf(page['items'])) {
          const metadata = objectAt(item, 'metadata');
          if (!objectsOf(metadata?.['ownerReferences']).some((owner) => uids.has(textOf(owner['uid'])))) continue;
          const namespace = textOf(metadata?.['namespace']);
          objects.push(`${name} ${namespace === '' ? '' : `${namespace}/`}${textOf(metadata?.['name'])}`);
        }
        token = textOf(objectAt(page, 'metadata')?.['continue']);
        if (token === '') break;
      }
    } catch (error) {
      if (!(error instanceof ClusterError)) throw error;
      // Served to some, or not at all: nothing is owned there.
      if (error.status !== 404 && error.status !== 405) unread.push(name);
    }
  }
  return { objects, unread };
}

/** Why a group does not go back. */
export function dependentsText({ objects, unread }: Dependents): string {
  if (objects.length > 0)
    return `${objects.length} objects outside of the group are owned by objects that were created in Annex, and would be deleted: ${objects.slice(0, EXAMPLES).join(', ')}. Take their ownerReferences away, or set spec.dependents: Abandon`;
  return `Annex may not list ${unread.slice(0, EXAMPLES).join(', ')}${unread.length > EXAMPLES ? ` and ${unread.length - EXAMPLES} more` : ''}, where objects may be owned by objects that were created in Annex, and would be deleted. annex release looks with your rights; or set spec.dependents: Abandon`;
}

export interface CollectionOfCluster {
  readonly path: string;
  readonly name: string;
}

/** Every resource that can be listed, in the version that its group prefers, but for those of the group itself. */
export async function collections(client: Pick<ClusterClient, 'call'>, group: string): Promise<CollectionOfCluster[]> {
  const { body } = await client.call('GET', '/apis');
  const versions = [
    { path: '/api/v1', group: '' },
    ...objectsOf(body['groups']).map((one) => ({
      path: `/apis/${textOf(objectAt(one, 'preferredVersion')?.['groupVersion'])}`,
      group: textOf(one['name']),
    })),
  ];
  const found: CollectionOfCluster[] = [];
  for (const version of versions) {
    if (version.group === group || version.group === 'events.k8s.io') continue;
    const { status, body: list } = await client.call('GET', version.path);
    if (status !== 200) {
      found.push({ path: version.path, name: version.group });
      continue;
    }
    for (const resource of objectsOf(list['resources'])) {
      const name = textOf(resource['name']);
      const isEvent = version.group === '' && name === 'events';
      if (isEvent || name.includes('/') || !textsOf(resource['verbs']).includes('list')) continue;
      found.push({ path: `${version.path}/${name}`, name: version.group === '' ? name : `${name}.${version.group}` });
    }
  }
  return found;
}
