import type { JsonValue } from '../../apimachinery/json/json.js';
import { deepEqual, isObject } from '../../apimachinery/json/json.js';
import { parseJson } from '../../apimachinery/json/decode.js';
import type { Backend, Revision, StagedObject, Staging, StoredObject } from '../../storage/interfaces.js';
import { storedPages } from '../rehearsal/stored-pages.js';

export interface LiveCopyOptions {
  readonly backend: Pick<Backend, 'list' | 'get' | 'write'>;
  /** Annex's log began above this revision: objects with an older one have it from the cluster. */
  readonly first: Revision;
  /** Reports whether the cluster owns the type: Annex does not take writes yet, and the group is not on its way back. */
  isFollowing(resource: string): boolean;
}

/**
 * The objects of a type in Annex while the cluster still owns them: changes in the cluster are applied as ordinary writes. Each write
 * expects the state from the beginning of the copy, or the copy's own last write, so it never overwrites what was written after Annex took
 * over.
 */
export class LiveCopy implements Pick<Staging, 'revisions' | 'put' | 'remove'> {
  /** The revisions of the objects in Annex. */
  private known = new Map<string, Revision>();

  constructor(private readonly options: LiveCopyOptions) {}

  /** Returns the revisions in the cluster; 0 if unknown. */
  async revisions(resource: string): Promise<Map<string, Revision>> {
    const { backend, first } = this.options;
    this.known = new Map();
    const found = new Map<string, Revision>();
    for await (const page of storedPages(backend, resource)) {
      for (const { key, revision } of page) {
        this.known.set(key, revision);
        found.set(key, revision <= first ? revision : 0);
      }
    }
    // The list is only valid if Annex did not own the type meanwhile.
    this.check(resource);
    return found;
  }

  async put(resource: string, objects: readonly StagedObject[]): Promise<void> {
    await Promise.all(objects.map((object) => this.putOne(resource, object)));
  }

  async remove(resource: string, keys: readonly string[]): Promise<void> {
    await Promise.all(
      keys.map(async (key) => {
        const expected = this.known.get(key) ?? 0;
        if (expected === 0) return;
        await this.write(resource, key, expected, undefined);
        this.known.delete(key);
      }),
    );
  }

  private async putOne(resource: string, { key, value }: StagedObject): Promise<void> {
    const expected = this.known.get(key) ?? 0;
    if (expected > this.options.first && (await this.isThere(resource, key, value.object))) return;
    this.known.set(key, await this.write(resource, key, expected, value));
  }

  private async isThere(resource: string, key: string, object: JsonValue): Promise<boolean> {
    const stored = await this.options.backend.get(resource, key);
    return stored !== undefined && deepEqual(contentOf(stored), object);
  }

  private async write(
    resource: string,
    key: string,
    expected: Revision,
    value: StagedObject['value'] | undefined,
  ): Promise<Revision> {
    this.check(resource);
    const result = await this.options.backend.write({ resource, key, expected, value });
    if (result.outcome === 'committed') return result.object.revision;
    throw new Error(`${resource} ${key} was changed by another client`);
  }

  private check(resource: string): void {
    if (!this.options.isFollowing(resource)) throw new Error(`${resource} no longer follows the cluster`);
  }
}

/** Returns the content without its revision, the form in which encoded objects are compared. */
function contentOf({ bytes }: StoredObject): JsonValue | undefined {
  const object = parseJson(bytes);
  const metadata = isObject(object) ? object['metadata'] : undefined;
  if (!isObject(object) || !isObject(metadata)) return undefined;
  const { resourceVersion: _, ...rest } = metadata;
  return { ...object, metadata: rest };
}
