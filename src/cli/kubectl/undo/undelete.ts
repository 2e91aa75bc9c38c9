import { type Command, Option } from 'commander';
import type { JsonObject } from '../../../apimachinery/json/json.js';
import { parseLabelSelector } from '../../../apimachinery/selectors/label-parser.js';
import type { LabelRequirement } from '../../../apimachinery/selectors/labels.js';
import type { Clock } from '../../../util/clock.js';
import { messageOf } from '../../../util/error-message.js';
import { fullName, type Resource } from '../discovery.js';
import { UsageError } from '../failure.js';
import { WHERE } from '../listing.js';
import { selected, type Selected } from '../selection.js';
import { run, serverCommand, type Session, type SessionFlags } from '../session.js';
import { planAndRestore, type RestoreFlags } from './restores.js';
import { oneObject, revisionsOf } from './revisions.js';
import { timeOf } from './times.js';
import { textAt } from '../../../apimachinery/json/json.js';

interface ConditionFlags extends SessionFlags, RestoreFlags {
  readonly allNamespaces?: boolean;
  readonly selector?: string;
  readonly where?: string;
  readonly force?: boolean;
}

interface UndeleteFlags extends ConditionFlags {
  readonly since?: string;
  readonly asName?: string;
  readonly asNamespace?: string;
  readonly withoutFinalizers?: boolean;
  readonly contents: boolean;
}

interface UndoFlags extends ConditionFlags {
  readonly toRevision?: string;
  readonly toTime?: string;
}

const withConditions = (command: Command): Command =>
  command
    .argument('<type>', 'Type, or TYPE/NAME.')
    .argument('[names...]', 'Names, or more of TYPE/NAME.')
    .option('-A, --all-namespaces', 'All namespaces.')
    .option('-l, --selector <selector>', 'Only objects that had these labels.')
    .option(...WHERE)
    .option('--force', 'Overwrites newer objects and changes.')
    .option('-y, --yes', 'Agrees in advance.')
    .option('--dry-run', 'Only shows what would be done; the server checks all of it.')
    .addOption(new Option('-o, --output <format>', 'json: prints the status of the restore.').choices(['json']));

/** `kubectl annex undelete` */
export function undeleteCommand(clock: Clock): Command {
  const command = serverCommand(
    'undelete',
    'Brings deleted objects back in their last state: by name, or all of a type that conditions select. With a namespace or a definition comes what was deleted with it.',
  );
  return withConditions(command)
    .option('--since <time>', 'Only what was deleted since then: 10m, 2h, 7d, or 2026-11-22T10:00:00Z.')
    .option('--as-name <name>', 'Brings one object back under another name.')
    .option('--as-namespace <namespace>', 'Brings the objects back in another namespace.')
    .option('--without-finalizers', 'Brings objects back without finalizers.')
    .option('--no-contents', 'Brings a namespace or a definition back alone.')
    .action((type: string, names: readonly string[], flags: UndeleteFlags) =>
      run(flags, clock, (session) => undelete(session, [type, ...names], flags)),
    );
}

async function undelete(session: Session, args: readonly string[], flags: UndeleteFlags): Promise<void> {
  const { since, asName, asNamespace, withoutFinalizers, contents } = flags;
  const as = {
    ...(asName !== undefined && { name: asName }),
    ...(asNamespace !== undefined && { namespace: asNamespace }),
  };
  for (const target of joined(await selected(session, args))) {
    const spec: JsonObject = {
      ...commonSpec(session, target, flags),
      ...(since !== undefined && { deletedSince: timeOf('since', since, session.clock.now()) }),
      ...(Object.keys(as).length > 0 && { as }),
      ...(withoutFinalizers === true && { withoutFinalizers: true }),
      ...(contents && target.names.length > 0 && HAVE_CONTENTS.has(fullName(target.resource)) && { contents: true }),
    };
    await planAndRestore(session, spec, inWords(target), flags);
  }
}

const HAVE_CONTENTS: ReadonlySet<string> = new Set([
  'namespaces',
  'customresourcedefinitions.apiextensions.k8s.io',
  'resourcedefinitions.kubeannex.io',
]);

/** `kubectl annex undo` */
export function undoCommand(clock: Clock): Command {
  const command = serverCommand(
    'undo',
    'Takes changes back: of one object to the revision before, or of one or many to the state at a revision or a time.',
  );
  return withConditions(command)
    .option('--to-revision <revision>', 'The state at this resourceVersion.')
    .option('--to-time <time>', 'The state at this time: 10m, 2h, 7d, or 2026-11-22T10:00:00Z.')
    .action((type: string, names: readonly string[], flags: UndoFlags) =>
      run(flags, clock, (session) => undo(session, [type, ...names], flags)),
    );
}

async function undo(session: Session, args: readonly string[], flags: UndoFlags): Promise<void> {
  if (flags.toRevision !== undefined && flags.toTime !== undefined)
    throw new UsageError('--to-revision and --to-time exclude each other');
  const given = goal(flags, session.clock.now());
  for (const target of joined(await selected(session, args))) {
    if (given === undefined && target.names.length !== 1)
      throw new UsageError('many objects need --to-time or --to-revision');
    const spec = commonSpec(session, target, flags);
    const to = given ?? (await before(session, args));
    await planAndRestore(session, { ...spec, ...(to !== 'deleted' && { to }) }, inWords(target), flags);
  }
}

function goal({ toRevision, toTime }: UndoFlags, now: number): JsonObject | undefined {
  if (toRevision !== undefined && !/^[1-9]\d{0,15}$/.test(toRevision))
    throw new UsageError(`--to-revision: ${toRevision} is not a resourceVersion`);
  if (toRevision !== undefined) return { revision: toRevision };
  return toTime === undefined ? undefined : { time: timeOf('to-time', toTime, now) };
}

/** Returns the revision before the newest write of an object; 'deleted' if that was its deletion. */
async function before(session: Session, args: readonly string[]): Promise<JsonObject | 'deleted'> {
  const { resource, name } = await oneObject(session, args);
  const namespace = resource.namespaced ? session.namespace : undefined;
  const newest = (await revisionsOf(session, resource, { 'object.name': name }, { namespace })).at(-1);
  const operation = textAt(newest, 'operation');
  if (operation === 'Delete') return 'deleted';
  if (operation !== 'Update') throw new UsageError(`no write of ${resource.name}/${name} that changed it is kept`);
  return { revision: String(Number(textAt(newest, 'revision')) - 1) };
}

function commonSpec(session: Session, { resource, names }: Selected, flags: ConditionFlags): JsonObject {
  const { allNamespaces, selector, where, force } = flags;
  if (names.length > 0 && allNamespaces === true && resource.namespaced)
    throw new UsageError('an object cannot be named across all namespaces');
  if (where?.trim() === '') throw new UsageError('--where: the expression is empty');
  return {
    resource: { ...(resource.group !== '' && { group: resource.group }), resource: resource.name },
    ...(resource.namespaced && allNamespaces !== true && { namespace: session.namespace }),
    ...(names.length > 0 && { names: [...names] }),
    ...(selector !== undefined && { labelSelector: selectorObject(selector) }),
    ...(where !== undefined && { where }),
    ...(force === true && { force: true }),
  };
}

const OPERATORS: Readonly<Record<string, string>> = {
  '=': 'In',
  '==': 'In',
  in: 'In',
  '!=': 'NotIn',
  notin: 'NotIn',
  exists: 'Exists',
  '!': 'DoesNotExist',
};

/** Returns a label selector as objects have it. */
function selectorObject(text: string): JsonObject {
  try {
    return { matchExpressions: parseLabelSelector(text).requirements.map(expressionOf) };
  } catch (error) {
    if (error instanceof UsageError) throw error;
    throw new UsageError(`--selector: ${messageOf(error)}`);
  }
}

function expressionOf({ key, operator, values }: LabelRequirement): JsonObject {
  const name = OPERATORS[operator];
  if (name === undefined) throw new UsageError(`--selector: ${operator} cannot be used here`);
  return { key, operator: name, ...([...values].length > 0 && { values: [...values] }) };
}

/** Returns one target for each type. */
function joined(targets: readonly Selected[]): readonly Selected[] {
  const byType = new Map<Resource, string[]>();
  for (const { resource, names } of targets) byType.set(resource, [...(byType.get(resource) ?? []), ...names]);
  return [...byType].map(([resource, names]) => ({ resource, names }));
}

const inWords = ({ resource, names }: Selected): string =>
  names.length === 0 ? fullName(resource) : names.map((name) => `${fullName(resource)}/${name}`).join(', ');
