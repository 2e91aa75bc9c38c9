import { type JsonObject, objectAt, objectsOf, stringAt } from '../apimachinery/json/json.js';
import type { ClusterClient } from './cluster-client.js';

export type Cluster = Pick<ClusterClient, 'call' | 'must' | 'metadata'>;

const PAGE = 500;

/** Returns all objects of a collection; none if the cluster does not serve it. */
export async function listAll(cluster: Cluster, path: string): Promise<JsonObject[]> {
  const found: JsonObject[] = [];
  await eachPage(async (query) => {
    const page = await cluster.must('GET', `${path}${query}`);
    found.push(...objectsOf(page?.['items']));
    return page;
  });
  return found;
}

/** Visits the metadata of all objects of a collection. Returns the revision of the list. */
export async function eachMetadata(
  cluster: Pick<Cluster, 'metadata'>,
  path: string,
  visit: (metadata: JsonObject) => void,
): Promise<number> {
  let revision = 0;
  await eachPage(async (query) => {
    const page = await cluster.metadata(`${path}${query}`);
    revision = Number(objectAt(page, 'metadata')?.['resourceVersion'] ?? 0);
    for (const item of objectsOf(page['items'])) visit(objectAt(item, 'metadata') ?? {});
    return page;
  });
  return revision;
}

/** Reads a list page by page; `read` appends the query to the path and returns the page. */
export async function eachPage(read: (query: string) => Promise<JsonObject | undefined>): Promise<void> {
  for (let token = ''; ;) {
    const more = token === '' ? '' : `&continue=${encodeURIComponent(token)}`;
    const page = await read(`?limit=${PAGE}${more}`);
    token = stringAt(objectAt(page, 'metadata'), 'continue') ?? '';
    if (token === '') return;
  }
}
