import type { Backend, StoredObject } from '../../storage/interfaces.js';

/** The page size, in objects. */
const PAGE = 500;

/** Yields the objects of a type in Annex as of one revision, page by page. */
export async function* storedPages(
  backend: Pick<Backend, 'list'>,
  resource: string,
): AsyncGenerator<readonly StoredObject[]> {
  let revision = 0;
  for (let from = ''; ;) {
    const page = await backend.list(resource, { prefix: '', from, limit: PAGE, revision });
    revision = page.revision;
    yield page.items;
    const last = page.items.at(-1);
    if (!page.more || last === undefined) return;
    from = `${last.key}\0`;
  }
}
