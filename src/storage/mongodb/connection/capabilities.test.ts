import { MongoServerError, type Db, type Document } from 'mongodb';
import { missingCapability } from './capabilities.js';

const HELLO = { logicalSessionTimeoutMinutes: 30 };

/** A database whose MongoDB refuses some commands. */
function refusing(refuses: (command: Document) => boolean, code = 115): { readonly db: Db; readonly sent: Document[] } {
  const sent: Document[] = [];
  const command = (given: Document): Promise<Document> => {
    sent.push(given);
    if (refuses(given)) return Promise.reject(new MongoServerError({ message: 'not supported', code }));
    return Promise.resolve({ cursor: { id: 0, firstBatch: [] } });
  };
  const collection = () => ({ updateOne: () => command({ numbered: true }) });
  return { db: { command, collection } as unknown as Db, sent };
}

const level = (name: string) => (command: Document) => {
  const { level: wanted } = (command['readConcern'] ?? {}) as { readonly level?: string };
  return wanted === name && 'find' in command;
};
const concern = (name: string) => (command: Document) => name in (command['writeConcern'] ?? {});

test.each<[string, (command: Document) => boolean]>([
  ['majority reads', level('majority')],
  ['linearizable reads', level('linearizable')],
  ['snapshot reads', level('snapshot')],
  ['journaled writes', concern('j')],
  ['majority writes', concern('wtimeout')],
  ['retryable writes', (command) => 'numbered' in command],
  ['change streams', (command) => 'aggregate' in command],
])('%s are named if they are missing', async (capability, refuses) => {
  expect(await missingCapability(refusing(refuses).db, HELLO)).toBe(`${capability} (not supported)`);
});

test('a MongoDB without sessions has no retryable writes', async () => {
  expect(await missingCapability(refusing(() => false).db, {})).toMatch(/^retryable writes/);
});

test('with everything nothing is missing, and nothing is written', async () => {
  const { db, sent } = refusing(() => false);
  expect(await missingCapability(db, HELLO)).toBeUndefined();
  const updates = sent.flatMap((command) => (command['updates'] as Document[] | undefined) ?? []);
  expect(updates.length).toBeGreaterThan(0);
  for (const update of updates) expect(update).toEqual({ q: { _id: 'nothing' }, u: { $set: { version: 0 } } });
});

test.each([
  ['no primary', 10107],
  ['a time limit', 50],
])('%s is temporary', async (_, code) => {
  const { db } = refusing(level('linearizable'), code);
  await expect(missingCapability(db, HELLO)).rejects.toThrow('not supported');
});

test('a snapshot that is gone says nothing', async () => {
  expect(await missingCapability(refusing(level('snapshot'), 246).db, HELLO)).toBeUndefined();
});
