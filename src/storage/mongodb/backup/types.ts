import type { Db } from 'mongodb';
import { StorageError } from '../../errors.js';
import { metaOf, stateCollection, statesOf, type LogOverride } from '../documents.js';
import { LAYOUT } from '../layout.js';
import { isCollectionOfType } from '../retention/complete.js';

/** The types whose objects are named as the types that they define. */
const DEFINITIONS = ['customresourcedefinitions.apiextensions.k8s.io', 'resourcedefinitions.kubeannex.io'];
const ESCAPED = '~system.';

/** Returns the collections of all types, by the storage names of the types. */
export async function collectionsOfTypes(db: Db): Promise<Map<string, string>> {
  const all = await db.listCollections({ type: 'collection' }, { nameOnly: true }).toArray();
  const found = new Map<string, string>();
  let abbreviated: ReadonlyMap<string, string> | undefined;
  for (const { name } of all) {
    if (!isCollectionOfType(name)) continue;
    if (!name.includes('~')) found.set(name, name);
    else if (name.startsWith(ESCAPED)) found.set(name.slice(1), name);
    else {
      abbreviated ??= await abbreviatedTypes(db);
      const type = abbreviated.get(name);
      if (type === undefined)
        throw new StorageError('unusable', `the collection ${name} is of no type that is defined`);
      found.set(type, name);
    }
  }
  return found;
}

/** Returns the types whose collections do not have their whole names, by the names of the collections. */
async function abbreviatedTypes(db: Db): Promise<ReadonlyMap<string, string>> {
  const found = new Map<string, string>();
  for (const definitions of DEFINITIONS)
    for await (const { _id } of statesOf(db, definitions).find({}, { projection: { _id: 1 } }))
      found.set(stateCollection(_id), _id);
  return found;
}

/** Returns the types with logs of their own. */
export async function overridesOf(db: Db): Promise<readonly LogOverride[]> {
  return (await metaOf(db).findOne({ _id: LAYOUT }))?.overrides ?? [];
}
