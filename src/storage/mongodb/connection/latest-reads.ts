import type { MongoClient, ReadConcernLike, ServerDescription } from 'mongodb';

const WRITABLE: ReadonlySet<string> = new Set(['RSPrimary', 'Mongos', 'LoadBalancer']);
/** No answer is waited for longer: without a majority a linearizable read has none. */
const READ_MILLIS = 10_000;

/**
 * How to read what shows everything that any replica of Annex acknowledged before. A majority read does not after an election: the
 * new primary may not know yet what a majority has, and the old one may not know that it is deposed. A linearizable read asks the other
 * members, at the cost of a no-op in the oplog. A set of one member needs neither.
 */
export class LatestReads {
  private alone = false;
  /** Whether there is a primary, as far as the driver knows. */
  hasPrimary = true;

  constructor(client: MongoClient) {
    client.on('topologyDescriptionChanged', ({ newDescription }) => {
      const servers = [...newDescription.servers.values()];
      this.alone = servers.some(isAlone);
      this.hasPrimary = servers.some(({ type }) => WRITABLE.has(type));
    });
  }

  /** For a read from the primary. */
  get options(): { readonly readConcern: ReadConcernLike; readonly maxTimeMS: number } {
    return { readConcern: { level: this.alone ? 'majority' : 'linearizable' }, maxTimeMS: READ_MILLIS };
  }
}

function isAlone({ type, hosts, passives, arbiters }: ServerDescription): boolean {
  return type === 'RSPrimary' && hosts.length + passives.length + arbiters.length === 1;
}
