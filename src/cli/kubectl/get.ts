import type { Command } from 'commander';
import { type JsonObject, objectsOf } from '../../apimachinery/json/json.js';
import type { Clock } from '../../util/clock.js';
import { askedFor } from './asking.js';
import { kindName, type Resource } from './discovery.js';
import { FAILED } from './failure.js';
import {
  eachNamed,
  eachPage,
  type GetFlags,
  listOf,
  METADATA,
  tableOf,
  tablePrinter,
  wholeNumber,
  withOutput,
  withQuestion,
} from './listing.js';
import { type ObjectPrinter, printerOf } from './print/printer.js';
import { itemsOf, namespaceOf, refuseNames, type Selected, selected, withSelection } from './selection.js';
import { run, serverCommand, type Session } from './session.js';
import { follow } from './watch.js';

const withGetFlags = (command: Command): Command =>
  withOutput(withQuestion(withSelection(command)))
    .argument('<type>', 'Type, types separated by commas, or TYPE/NAME.')
    .argument('[names...]', 'Names, or more of TYPE/NAME.')
    .option('--chunk-size <number>', 'Objects of one request; 0 gets all in one.', wholeNumber, 500)
    .option('--output-watch-events', 'Shows the type of each event of a watch.');

/** `kubectl annex get` */
export function getCommand(clock: Clock): Command {
  const about = 'Shows objects: all of a type, those that --where selects, or those that are named.';
  return withGetFlags(serverCommand('get', about))
    .option('--limit <number>', 'At most this many objects.', wholeNumber)
    .option('-w, --watch', 'Shows changes after the list.')
    .option('--watch-only', 'Shows changes without the list.')
    .option('--ignore-not-found', 'An object that does not exist is no error.')
    .action((type: string, names: readonly string[], flags: GetFlags) =>
      run(flags, clock, (session) => get(session, [type, ...names], flags)),
    );
}

/** `kubectl annex watch` */
export function watchCommand(clock: Clock): Command {
  return withGetFlags(serverCommand('watch', 'Shows objects and then their changes: get --watch.')).action(
    (type: string, names: readonly string[], flags: GetFlags) =>
      run(flags, clock, (session) => get(session, [type, ...names], { ...flags, watch: true })),
  );
}

async function get(session: Session, args: readonly string[], flags: GetFlags): Promise<void> {
  const asked = askedFor(flags);
  const printer = printerOf(flags);
  const targets = await selected(session, args);
  refuseNames(targets, flags, asked);
  if (flags.watch === true || flags.watchOnly === true) {
    await follow(session, targets, flags, printer);
    return;
  }
  await (printer === undefined ? showTables(session, targets, flags) : showObjects(session, targets, flags, printer));
}

async function showTables(session: Session, targets: readonly Selected[], flags: GetFlags): Promise<void> {
  const isMixed = new Set(targets.map(({ resource }) => resource)).size > 1;
  let shown = 0;
  for (const [resource, names] of byResource(targets)) {
    const merged = await tableOf(session, resource, names, flags);
    if (objectsOf(merged['rows']).length === 0) continue;
    const printer = tablePrinter(flags, resource, isMixed ? kindName(resource) : undefined);
    session.terminal.out(`${shown > 0 && flags.headers !== false ? '\n' : ''}${printer.print(merged)}`);
    shown++;
  }
  if (shown === 0 && process.exitCode !== FAILED && flags.ignoreNotFound !== true) noneFound(session, targets, flags);
}

function noneFound(session: Session, targets: readonly Selected[], flags: GetFlags): void {
  const [first] = targets;
  const namespace = first && namespaceOf(session, first.resource, flags);
  session.terminal.error(`No resources found${namespace === undefined ? '' : ` in ${namespace} namespace.`}`);
}

/** Groups names of the same type, so that they share a table. */
function byResource(targets: readonly Selected[]): ReadonlyMap<Resource, readonly string[]> {
  const groups = new Map<Resource, string[]>();
  for (const { resource, names } of targets) groups.set(resource, [...(groups.get(resource) ?? []), ...names]);
  return groups;
}

async function showObjects(
  session: Session,
  targets: readonly Selected[],
  flags: GetFlags,
  printer: ObjectPrinter,
): Promise<void> {
  const objects: JsonObject[] = [];
  for (const { resource, names } of targets) {
    if (names.length > 0)
      await eachNamed(session, resource, names, flags, 'application/json', (object) => objects.push(object));
    else {
      const accept = printer.metadataOnly ? METADATA : 'application/json';
      await eachPage(session, listOf(resource, flags, accept), (list) => {
        for (const item of itemsOf(list, resource)) objects.push(item);
      });
    }
  }
  const isNamed = targets.reduce((sum, { names }) => sum + names.length, 0) === 1;
  if (isNamed && objects.length === 0) return;
  session.terminal.out(printer.all(objects, !isNamed));
}
