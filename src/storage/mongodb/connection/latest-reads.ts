import type { MongoClient, ReadConcernLike, ServerDescription } from 'mongodb';

const WRITABLE: ReadonlySet<string> = new Set(['RSPrimary', 'Mongos', 'LoadBalancer']);
/** The maximum time of a read: without a majority, a linearizable read never returns. */
const READ_MILLIS = 10_000;

/**
 * The options of reads that must include everything that any replica of Annex has acknowledged. After an election a majority read may not:
 * the new primary may not know yet what a majority has, and the old one may not know that it was deposed. A linearizable read asks the
 * other members, at the cost of a no-op in the oplog. With a single member, a majority read is enough.
 */
export class LatestReads {
  private alone = false;
  /** True if there is a primary, as far as the driver knows. */
  hasPrimary = true;

  constructor(client: MongoClient) {
    client.on('topologyDescriptionChanged', ({ newDescription }) => {
      const servers = [...newDescription.servers.values()];
      this.alone = servers.some(isAlone);
      this.hasPrimary = servers.some(({ type }) => WRITABLE.has(type));
    });
  }

  /** The options for a read from the primary. */
  get options(): { readonly readConcern: ReadConcernLike; readonly maxTimeMS: number } {
    return { readConcern: { level: this.alone ? 'majority' : 'linearizable' }, maxTimeMS: READ_MILLIS };
  }
}

function isAlone({ type, hosts, passives, arbiters }: ServerDescription): boolean {
  return type === 'RSPrimary' && hosts.length + passives.length + arbiters.length === 1;
}
