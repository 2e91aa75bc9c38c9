import type { AnyBulkWriteOperation, Collection, Db } from 'mongodb';
import type { Revision, StagedObject, Staging, StoredObject } from '../../interfaces.js';
import { encodeRecord } from '../../record.js';
import { StorageError } from '../../errors.js';
import { DURABLE, LIVING, stateCollection, type StateDocument, statesIn, statesOf } from '../documents.js';
import { isDuplicateKey } from '../connection/failures.js';
import { readableForm } from './readable.js';

/**
 * A copy in separate collections, one for each type: `~copy.<name>.<type>`. Documents have the form of a type's own collection, so that a
 * rename puts the copy in its place.
 */
export class MongoStaging implements Staging {
  private readonly prefix: string;

  constructor(
    private readonly db: Db,
    name: string,
    /** Resolves when the projection has everything in the log. */
    private readonly settled: () => Promise<void>,
  ) {
    this.prefix = `~copy.${name}.`;
  }

  async revisions(resource: string): Promise<Map<string, Revision>> {
    const found = this.collection(resource)
      .find()
      .project<{ _id: string; _annex: { revision: Revision } }>({ '_annex.revision': 1 });
    const revisions = new Map<string, Revision>();
    for await (const { _id, _annex } of found) revisions.set(_id, _annex.revision);
    return revisions;
  }

  states(resource: string, keys: readonly string[]): Promise<Map<string, StoredObject>> {
    return statesIn(this.collection(resource), keys);
  }

  async put(resource: string, objects: readonly StagedObject[]): Promise<void> {
    if (objects.length === 0) return;
    const operations = objects.map((object): AnyBulkWriteOperation<StateDocument> => {
      const { key, revision } = object;
      // If a newer state exists, this is an insert of an existing key, and only this operation fails.
      const filter = { _id: key, '_annex.revision': { $lt: revision } };
      return { replaceOne: { filter, replacement: stateOf(object), upsert: true } };
    });
    try {
      await this.collection(resource).bulkWrite(operations, { ordered: false, ...DURABLE });
    } catch (error) {
      if (!isDuplicateKey(error)) throw error;
    }
  }

  async remove(resource: string, keys: readonly string[]): Promise<void> {
    if (keys.length === 0) return;
    await this.collection(resource).deleteMany({ _id: { $in: [...keys] } }, DURABLE);
  }

  async drop(): Promise<void> {
    const all = await this.db.listCollections({}, { nameOnly: true }).toArray();
    for (const { name } of all) if (name.startsWith(this.prefix)) await this.db.dropCollection(name);
  }

  async install(resource: string): Promise<void> {
    await this.settled();
    const from = this.collection(resource).collectionName;
    const to = stateCollection(resource);
    const names = (await this.db.listCollections({ name: { $in: [from, to] } }, { nameOnly: true }).toArray()).map(
      ({ name }) => name,
    );
    // It was renamed before, or nothing was ever copied.
    if (!names.includes(from)) return;
    if (names.includes(to) && (await statesOf(this.db, resource).findOne(LIVING, { projection: { _id: 1 } })) !== null)
      throw new StorageError('unusable', `the store already has objects of ${resource}`);
    await this.db.renameCollection(from, to, { dropTarget: true, ...DURABLE });
  }

  async discard(resource: string): Promise<void> {
    await this.settled();
    await this.db.dropCollection(stateCollection(resource));
  }

  private collection(resource: string): Collection<StateDocument> {
    return statesOf(this.db, this.prefix + resource);
  }
}

/** Returns the document of an object, without readable fields if it is encrypted or too large. */
function stateOf({ revision, value }: StagedObject): Omit<StateDocument, '_id'> {
  const readable = value.sealed === undefined ? readableForm(value, revision) : undefined;
  return { _annex: { revision, bytes: encodeRecord(value, revision) }, ...readable };
}
