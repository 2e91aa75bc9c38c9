import type { Db } from 'mongodb';

/** What Annex does in its database. The role readWrite allows all of it. */
export const NEEDED_ACTIONS = [
  'find',
  'insert',
  'update',
  'remove',
  'changeStream',
  'createCollection',
  'createIndex',
  'dropCollection',
  'dropIndex',
  'listCollections',
  'listIndexes',
  'renameCollectionSameDB',
  'dbStats',
];

export interface MongoPrivilege {
  readonly resource: { readonly db?: string; readonly collection?: string; readonly anyResource?: boolean };
  readonly actions: readonly string[];
}

/** Returns the actions that the user of the connection lacks; none if MongoDB does not require authentication or does not tell. */
export async function missingActions(db: Db): Promise<string[]> {
  const status = await db.command({ connectionStatus: 1, showPrivileges: true });
  const info = status['authInfo'] as
    { authenticatedUsers?: unknown[]; authenticatedUserPrivileges?: MongoPrivilege[] } | undefined;
  const privileges = info?.authenticatedUserPrivileges;
  if ((info?.authenticatedUsers ?? []).length === 0 || privileges === undefined) return [];
  return missingIn(privileges, db.databaseName);
}

/** Returns the actions that Annex needs on the whole database and that the privileges do not allow. */
export function missingIn(privileges: readonly MongoPrivilege[], database: string): string[] {
  const allowed = privileges
    .filter(({ resource: { anyResource, db, collection } }) =>
      anyResource === true ? true : collection === '' && (db === '' || db === database),
    )
    .flatMap(({ actions }) => actions);
  return NEEDED_ACTIONS.filter((action) => !allowed.includes(action));
}
