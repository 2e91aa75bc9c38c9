import type { Document } from 'mongodb';
import { withClient } from './mongod.js';

/** The documents of each collection, as mongodump reads them. */
export type Dump = ReadonlyMap<string, readonly Document[]>;

/** Reads a database, or some of its collections, as mongodump does. */
export function dump(uri: string, database: string, only?: readonly string[]): Promise<Dump> {
  return withClient(uri, async (client) => {
    const db = client.db(database);
    const names = (await db.listCollections({}, { nameOnly: true }).toArray()).map(({ name }) => name);
    const all = new Map<string, readonly Document[]>();
    for (const name of names.filter((each) => only?.includes(each) ?? true))
      all.set(name, await db.collection(name).find({}, { promoteLongs: false, promoteBuffers: false }).toArray());
    return all;
  });
}

/** Puts a dump in the place of the collections that it has, as `mongorestore --drop` does. */
export function restore(uri: string, database: string, from: Dump): Promise<void> {
  return withClient(uri, async (client) => {
    const db = client.db(database);
    await Promise.all(
      [...from].map(async ([name, documents]) => {
        await db.collection(name).drop();
        if (documents.length > 0) await db.collection(name).insertMany([...documents]);
      }),
    );
  });
}

/** The keys and revisions of the documents of a type that are not tombstones. */
export function documentsOf(uri: string, database: string, type: string): Promise<Map<string, number>> {
  return withClient(uri, async (client) => {
    const found = await client
      .db(database)
      .collection<Document & { readonly _id: string }>(type)
      .find({ '_annex.deleted': { $ne: true } })
      .toArray();
    return new Map(found.map(({ _id, _annex }) => [_id, (_annex as { revision: number }).revision]));
  });
}
