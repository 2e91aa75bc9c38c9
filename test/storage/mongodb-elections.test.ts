import type { MongoBackend } from '../../src/storage/mongodb/backend.js';
import { commit, put, RESOURCE } from './fixtures.js';
import { ReplicaSet } from './mongod.js';
import { hasMongod, mongodPath, newDatabase, OpenBackends, PATIENT } from './mongodb-fixtures.js';

const described = hasMongod() ? describe : describe.skip;
const { opened, closeAll } = new OpenBackends();
let set: ReplicaSet | undefined;

afterEach(async () => {
  for (const member of set?.members ?? []) member.thaw();
  await closeAll();
  await set?.dispose();
});

/** As many as a client has connections, so that some are answered before the member learns that it was deposed. */
const QUESTIONS = 30;

/** Returns the answer of the store, or undefined if the request failed. */
const answered = <T>(question: Promise<T>): Promise<T | undefined> => question.catch(() => undefined);

described('a deposed primary that has not noticed', () => {
  test('does not return old states', async () => {
    set = await ReplicaSet.start(mongodPath(), 3);
    const primary = await set.primary();
    const database = newDatabase();
    const near: MongoBackend = await opened({
      ...PATIENT,
      uri: `${set.uri}&heartbeatFrequencyMS=500&connectTimeoutMS=1000`,
      database,
    });
    // It does not check which member is primary.
    const far = await opened({
      ...PATIENT,
      uri: `${primary.directUri}&heartbeatFrequencyMS=300000&connectTimeoutMS=300000`,
      database,
    });
    const old = await commit(far, put('a/x', 0, { n: 1 }));
    await Promise.all(Array.from({ length: QUESTIONS }, () => far.get(RESOURCE, 'a/x')));
    primary.freeze();
    const { revision } = await commit(near, put('a/x', old.revision, { n: 2 }));
    const revisions = Array.from({ length: QUESTIONS }, () => answered(far.currentRevision()));
    const objects = Array.from({ length: QUESTIONS }, () => answered(far.get(RESOURCE, 'a/x')));
    primary.thaw();
    for (const reported of await Promise.all(revisions)) expect(reported ?? Infinity).toBeGreaterThanOrEqual(revision);
    for (const reported of await Promise.all(objects))
      expect(reported?.revision ?? Infinity).toBeGreaterThanOrEqual(revision);
  }, 180_000);
});
