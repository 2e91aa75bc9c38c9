import { type Command, Option } from 'commander';
import { type JsonObject, objectAt, objectsOf, textAt } from '../../apimachinery/json/json.js';
import type { Clock } from '../../util/clock.js';
import { type AskingFlags, askedFor } from './asking.js';
import { pathOf, type Resource } from './discovery.js';
import { describe, FAILED, Refusal, UsageError } from './failure.js';
import { type GetFlags, tableOf, tablePrinter, WHERE, wholeNumber } from './listing.js';
import { namedAs } from './print/printer.js';
import { inWords, selected, type SelectionFlags, withSelection } from './selection.js';
import { run, serverCommand, type Session, type SessionFlags } from './session.js';

export interface DeleteFlags extends SessionFlags, SelectionFlags, Pick<AskingFlags, 'where'> {
  readonly yes?: boolean;
  readonly dryRun: 'none' | 'client' | 'server';
  readonly cascade?: 'background' | 'foreground' | 'orphan';
  readonly gracePeriod?: number;
  readonly output?: 'name';
}

/** What the question shows; the rest is a number. */
const SHOWN = 20;
const AT_A_TIME = 8;
const CHUNK = 500;
const POLICIES = { background: 'Background', foreground: 'Foreground', orphan: 'Orphan' } as const;

/** `kubectl annex delete` */
export function deleteCommand(clock: Clock): Command {
  const command = serverCommand(
    'delete',
    'Deletes the objects that --where selects, after it has shown them and asked.',
  );
  return withSelection(command)
    .argument('<type>', 'Type of the objects.')
    .option(...WHERE)
    .option('-y, --yes', 'Agrees in advance.')
    .addOption(
      new Option('--dry-run <how>', 'client: only shows the objects; server: the server only checks each deletion.')
        .choices(['none', 'client', 'server'])
        .default('none'),
    )
    .addOption(
      new Option('--cascade <how>', 'What becomes of dependents. Default: what the type does.').choices(
        Object.keys(POLICIES),
      ),
    )
    .option('--grace-period <seconds>', 'Seconds that an object gets to end.', wholeNumber)
    .addOption(new Option('-o, --output <format>', 'name: prints the names alone.').choices(['name']))
    .action((type: string, flags: DeleteFlags) => run(flags, clock, (session) => remove(session, type, flags)));
}

/** An object as it was shown. */
interface Shown {
  readonly name: string;
  readonly namespace: string;
  readonly uid: string;
  readonly resourceVersion: string;
}

export async function remove(session: Session, type: string, flags: DeleteFlags): Promise<void> {
  if (flags.where === undefined)
    throw new UsageError('delete needs --where; kubectl delete deletes by name, by selector, or all');
  askedFor(flags);
  if (type.includes('/') || type.includes(',')) throw new UsageError('delete is for one type');
  const [target] = await selected(session, [type]);
  if (target === undefined) return;
  const { resource } = target;
  const { output: _, ...listing } = flags;
  const asTable: GetFlags = { ...listing, chunkSize: CHUNK };
  const table = await tableOf(session, resource, [], asTable);
  const rows = objectsOf(table['rows']);
  if (rows.length === 0) {
    session.terminal.error(`Nothing to delete: no ${inWords(session, resource, flags)} are selected`);
    return;
  }
  const isQuiet = flags.output === 'name' && (flags.yes === true || flags.dryRun !== 'none');
  if (!isQuiet)
    session.terminal.error(shownText({ ...table, rows: rows.slice(0, SHOWN) }, rows.length, asTable, resource));
  if (flags.dryRun === 'client') {
    for (const row of rows) tell(session, resource, shownIn(row), flags);
    return;
  }
  const isCheck = flags.dryRun === 'server';
  await session.confirm(
    `Delete ${String(rows.length)} ${inWords(session, resource, flags)}?`,
    flags.yes === true || isCheck,
  );
  await deleteAll(session, resource, rows.map(shownIn), flags);
}

function shownText(table: JsonObject, all: number, flags: GetFlags, resource: Resource): string {
  const text = tablePrinter(flags, resource).print(table).trimEnd();
  return all > SHOWN ? `${text}\n… and ${String(all - SHOWN)} more` : text;
}

function shownIn(row: JsonObject): Shown {
  const metadata = objectAt(objectAt(row, 'object'), 'metadata');
  const [name, namespace] = [textAt(metadata, 'name'), textAt(metadata, 'namespace')];
  return { name, namespace, uid: textAt(metadata, 'uid'), resourceVersion: textAt(metadata, 'resourceVersion') };
}

async function deleteAll(
  session: Session,
  resource: Resource,
  objects: readonly Shown[],
  flags: DeleteFlags,
): Promise<void> {
  const progress = session.progress();
  const counts = { deleted: 0, changed: 0, gone: 0, failed: 0 };
  const queue = objects.values();
  const work = async (): Promise<void> => {
    for (const object of queue) {
      try {
        await deleteOne(session, resource, object, flags);
        counts.deleted++;
        progress.clear();
        tell(session, resource, object, flags);
      } catch (error) {
        const status = error instanceof Refusal ? error.status : 0;
        if (status === 404) counts.gone++;
        else if (status === 409) counts.changed++;
        else counts.failed++;
        progress.clear();
        if (status !== 404 && status !== 409) session.terminal.error(describe(error).text);
      }
      progress.step(counts.deleted + counts.changed + counts.gone + counts.failed, objects.length, 'objects');
    }
  };
  await Promise.all(Array.from({ length: AT_A_TIME }, work));
  progress.clear();
  if (counts.changed > 0 || counts.failed > 0) process.exitCode = FAILED;
  session.terminal.error(summary(counts, flags.dryRun === 'server'));
}

function summary(
  counts: Readonly<Record<'deleted' | 'changed' | 'gone' | 'failed', number>>,
  isCheck: boolean,
): string {
  const { deleted, changed, gone, failed } = counts;
  const parts = [`${String(deleted)} deleted${isCheck ? ' (server dry run)' : ''}`];
  if (changed > 0) parts.push(`${String(changed)} not deleted, because they changed after they were shown (conflict)`);
  if (gone > 0) parts.push(`${String(gone)} gone before`);
  if (failed > 0) parts.push(`${String(failed)} refused`);
  return parts.join(', ');
}

/** Deletes an object if it is still what was shown. */
async function deleteOne(session: Session, resource: Resource, object: Shown, flags: DeleteFlags): Promise<void> {
  const { uid, resourceVersion, name, namespace } = object;
  const { cascade, gracePeriod, dryRun } = flags;
  const body = {
    apiVersion: 'v1',
    kind: 'DeleteOptions',
    preconditions: { uid, resourceVersion },
    ...(cascade !== undefined && { propagationPolicy: POLICIES[cascade] }),
    ...(gracePeriod !== undefined && { gracePeriodSeconds: gracePeriod }),
    ...(dryRun === 'server' && { dryRun: ['All'] }),
  };
  await session.request({ method: 'DELETE', path: `${pathOf(resource, namespace)}/${encodeURIComponent(name)}`, body });
}

function tell(session: Session, resource: Resource, { name, namespace }: Shown, flags: DeleteFlags): void {
  const { output, dryRun, allNamespaces } = flags;
  const [kind = '', ...rest] = namedAs(resource, name).split('/');
  const where = allNamespaces === true && resource.namespaced ? ` from ${namespace} namespace` : '';
  const how = dryRun === 'none' ? '' : dryRun === 'client' ? ' (dry run)' : ' (server dry run)';
  session.terminal.out(output === 'name' ? `${kind}/${rest.join('/')}\n` : `${kind} "${name}" deleted${where}${how}\n`);
}
