import { type Command, Option } from 'commander';
import { type JsonObject, objectAt, stringsOf, textAt } from '../../../apimachinery/json/json.js';
import type { Clock } from '../../../util/clock.js';
import { humanDuration } from '../../../util/text/human-duration.js';
import { unifiedDiff } from '../../../util/text/unified-diff.js';
import { pathOf } from '../discovery.js';
import { Failure, Refusal } from '../failure.js';
import { printerOf } from '../print/printer.js';
import { TabWriter } from '../print/tab-writer.js';
import { run, serverCommand, type Session, type SessionFlags } from '../session.js';
import { oneObject, revisionsOf, wholeRevision } from './revisions.js';

interface HistoryFlags extends SessionFlags {
  readonly output?: 'json' | 'yaml' | 'wide' | 'name';
}

interface DiffFlags extends SessionFlags {
  readonly revision?: string;
  readonly toRevision?: string;
  readonly showManagedFields?: boolean;
}

/** `kubectl annex history` */
export function historyCommand(clock: Clock): Command {
  return serverCommand('history', 'Lists the writes of an object, newest first: when, who, how, and what they changed.')
    .argument('<object...>', 'TYPE/NAME, or TYPE NAME.')
    .addOption(
      new Option('-o, --output <format>', 'Format. Default: a table.').choices(['json', 'yaml', 'wide', 'name']),
    )
    .action((args: readonly string[], flags: HistoryFlags) =>
      run(flags, clock, (session) => history(session, args, flags)),
    );
}

async function history(session: Session, args: readonly string[], flags: HistoryFlags): Promise<void> {
  const { resource, name } = await oneObject(session, args);
  const namespace = resource.namespaced ? session.namespace : undefined;
  const found = (await revisionsOf(session, resource, { 'object.name': name }, { namespace })).reverse();
  const { output } = flags;
  const printer = output === undefined || output === 'wide' ? undefined : printerOf({ ...flags, output });
  if (printer !== undefined) session.terminal.out(printer.all(found, true));
  else if (found.length === 0) throw new Failure(`no revisions of ${resource.name}/${name} are kept`);
  else session.terminal.out(tableOf(found, session.clock.now(), output === 'wide'));
}

function tableOf(revisions: readonly JsonObject[], now: number, wide: boolean): string {
  const header = ['REVISION', 'WHEN', 'WHO', 'HOW', 'CHANGED FIELDS'];
  const rows = revisions.map((revision) => {
    const by = objectAt(revision, 'by');
    const impersonator = textAt(by, 'impersonator');
    const fields = stringsOf(revision['changedFields']).join(' ');
    const more = Number(revision['moreChangedFields'] ?? 0);
    return [
      textAt(revision, 'revision'),
      whenOf(revision, now),
      (textAt(by, 'user') || '<server>') + (impersonator === '' ? '' : ` (by ${impersonator})`),
      textAt(by, wide ? 'userAgent' : 'manager') || '<none>',
      textAt(revision, 'operation') === 'Update'
        ? `${fields}${more > 0 ? ` and ${String(more)} more` : ''}`
        : `(${textAt(revision, 'operation').toLowerCase()}d)`,
    ];
  });
  return new TabWriter().format([header, ...rows]);
}

export const whenOf = (revision: JsonObject, now: number): string =>
  `${humanDuration(now - Date.parse(textAt(revision, 'time')))} ago`;

/** `kubectl annex diff` */
export function diffCommand(clock: Clock): Command {
  return serverCommand('diff', 'Shows how an object differs from an earlier revision, as a unified diff of YAML.')
    .argument('<object...>', 'TYPE/NAME, or TYPE NAME.')
    .option('--revision <revision>', 'Revision to compare with. Default: the one before the newest.')
    .option('--to-revision <revision>', 'Newer revision. Default: the object as it is, or as it was deleted.')
    .option('--show-managed-fields', 'Compares managedFields, too.')
    .action((args: readonly string[], flags: DiffFlags) => run(flags, clock, (session) => diff(session, args, flags)));
}

async function diff(session: Session, args: readonly string[], flags: DiffFlags): Promise<void> {
  const { resource, name } = await oneObject(session, args);
  const namespace = resource.namespaced ? session.namespace : undefined;
  const found = await revisionsOf(session, resource, { 'object.name': name }, { namespace });
  const stateAt = async (revision: string): Promise<JsonObject> => {
    const one = found.find((each) => textAt(each, 'revision') === revision);
    if (one === undefined) throw new Failure(`no revision ${revision} of ${resource.name}/${name} is kept`);
    return contentOf(await wholeRevision(session, one));
  };
  const before = await stateAt(flags.revision ?? textAt(found.at(-2), 'revision'));
  const after =
    flags.toRevision === undefined
      ? await currentOf(session, `${pathOf(resource, namespace)}/${encodeURIComponent(name)}`, () =>
          stateAt(textAt(found.at(-1), 'revision')),
        )
      : await stateAt(flags.toRevision);
  const [a, b] = [before, after].map((state) => linesOf(state, flags));
  session.terminal.out(unifiedDiff(a ?? [], b ?? []));
}

async function currentOf(session: Session, path: string, otherwise: () => Promise<JsonObject>): Promise<JsonObject> {
  try {
    return (await session.request({ method: 'GET', path })).body;
  } catch (error) {
    if (error instanceof Refusal && error.status === 404) return otherwise();
    throw error;
  }
}

function contentOf(revision: JsonObject): JsonObject {
  const content = objectAt(revision, 'content');
  if (content === undefined) throw new Failure(`the revision cannot be read: ${textAt(revision, 'unreadable')}`);
  return content;
}

function linesOf(state: JsonObject, { showManagedFields }: DiffFlags): string[] {
  const printer = printerOf({ output: 'yaml', ...(showManagedFields === true && { showManagedFields }) });
  return (printer?.all([state], false) ?? '').trimEnd().split('\n');
}
