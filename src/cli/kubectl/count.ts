import type { Command } from 'commander';
import { objectAt, objectsOf } from '../../apimachinery/json/json.js';
import type { Clock } from '../../util/clock.js';
import { type AskingFlags, askedFor } from './asking.js';
import { fullName, type Resource } from './discovery.js';
import { UsageError } from './failure.js';
import { explained } from './hints.js';
import { METADATA, WHERE } from './listing.js';
import { TabWriter } from './print/tab-writer.js';
import { pages, selected, type SelectionFlags, withSelection } from './selection.js';
import { run, serverCommand, type Session, type SessionFlags } from './session.js';

type CountFlags = SessionFlags & SelectionFlags & Pick<AskingFlags, 'where'>;

/** `kubectl annex count` */
export function countCommand(clock: Clock): Command {
  return withSelection(serverCommand('count', 'Prints how many objects of a type there are, exactly.'))
    .argument('<type>', 'Type, or types separated by commas.')
    .option(...WHERE)
    .action((type: string, flags: CountFlags) => run(flags, clock, (session) => count(session, type, flags)));
}

async function count(session: Session, type: string, flags: CountFlags): Promise<void> {
  if (type.includes('/')) throw new UsageError('a count is of a type, not of one object');
  const targets = await selected(session, [type]);
  const rows: string[][] = [];
  for (const { resource } of targets) rows.push([fullName(resource), String(await countOf(session, resource, flags))]);
  const numbers = rows.map(([, number = '']) => [number]);
  session.terminal.out(new TabWriter().format(rows.length === 1 ? numbers : rows));
}

async function countOf(session: Session, resource: Resource, flags: CountFlags): Promise<number> {
  const asked = askedFor(flags, true);
  return explained(session, resource, asked, async () => {
    for await (const { body } of pages(session, { resource, flags, asked, accept: METADATA, chunk: 1, limit: 1 })) {
      return objectsOf(body['items']).length + Number(objectAt(body, 'metadata')?.['remainingItemCount'] ?? 0);
    }
    return 0;
  });
}
