import { EventFeed } from './event-feed.js';
import type { LogEvent, Revision } from './interfaces.js';

const event = (revision: Revision): LogEvent => ({
  revision,
  resource: 'maps',
  key: `k${revision}`,
  type: 'ADDED',
  object: { key: `k${revision}`, revision, bytes: Buffer.from('{}'), flags: 0 },
});

/** Returns the revisions that a reader gets from a log with the given entries, and the code of the error that ends it, if any. */
async function read(log: readonly Revision[], newest: Revision): Promise<readonly (Revision | string)[]> {
  const feed = new EventFeed({
    revision: newest,
    maxEvents: 10,
    maxBytes: 1_000,
    readLog: (after) => Promise.resolve(log.filter((revision) => revision > after).map(event)),
  });
  const seen: (Revision | string)[] = [];
  try {
    for await (const batch of feed.read(1, new AbortController().signal)) {
      seen.push(...batch.map(({ revision }) => revision));
      if (seen.at(-1) === newest) break;
    }
  } catch (error) {
    seen.push((error as { code: string }).code);
  }
  return seen;
}

test.each<[string, readonly Revision[], readonly (Revision | string)[]]>([
  ['a whole log is read to its end', [2, 3, 4, 5], [2, 3, 4, 5]],
  ['where the first entry is missing, nothing is', [3, 4, 5], ['compacted']],
  ['up to an entry that is missing, and no further', [2, 3, 5], [2, 3, 'compacted']],
  ['of an empty log nothing is', [], ['compacted']],
])('%s', async (_, log, expected) => {
  expect(await read(log, 5)).toEqual(expected);
});
