import { type Command, Option } from 'commander';
import { conditionsOf } from '../../apimachinery/meta/conditions.js';
import { type JsonObject, objectAt, textAt, textOf } from '../../apimachinery/json/json.js';
import type { Clock } from '../../util/clock.js';
import { fullName, type Resource } from './discovery.js';
import { Failure } from './failure.js';
import { printerOf } from './print/printer.js';
import { TabWriter } from './print/tab-writer.js';
import { itemsOf, pages } from './selection.js';
import { run, serverCommand, type Session, type SessionFlags } from './session.js';

interface ViewsFlags extends SessionFlags {
  readonly output?: 'json' | 'yaml' | 'name';
}

/** `kubectl annex views` */
export function viewsCommand(clock: Clock): Command {
  return serverCommand(
    'views',
    'Lists the Views of a server: what each is about, and whether it is ready and complete.',
  )
    .addOption(new Option('-o, --output <format>', 'Format. Default: a table.').choices(['json', 'yaml', 'name']))
    .action((flags: ViewsFlags) => run(flags, clock, (session) => views(session, flags)));
}

export async function views(session: Session, flags: ViewsFlags): Promise<void> {
  const discovery = await session.discovery();
  const resource = discovery.withVerb('list').find((one) => fullName(one) === 'views.kubeannex.io');
  if (resource === undefined) throw new Failure('the server has no Views (views.kubeannex.io)');
  const all: JsonObject[] = [];
  const request = { resource, flags: {}, asked: {}, accept: 'application/json', chunk: 500 };
  for await (const { body } of pages(session, request)) all.push(...itemsOf(body, resource));
  const printer = printerOf(flags);
  if (printer !== undefined) session.terminal.out(printer.all(all, true));
  else if (all.length === 0) session.terminal.error('No views found');
  else
    session.terminal.out(
      new TabWriter().format([HEADER, ...all.map((view) => rowOf(view, discovery.withVerb('list')))]),
    );
}

const HEADER = ['NAME', 'KIND', 'SOURCE', 'READY', 'COMPLETE', 'MESSAGE'];

function rowOf(view: JsonObject, served: readonly Resource[]): string[] {
  const spec = objectAt(view, 'spec');
  const source = objectAt(spec, 'source');
  const group = textAt(source, 'group');
  const name = textAt(objectAt(view, 'metadata'), 'name');
  const conditions = conditionsOf(view);
  const status = (type: string): string =>
    textOf(conditions.find((one) => one['type'] === type)?.['status']) || 'Unknown';
  const wrong = conditions.filter((one) => one['status'] === 'False').map((one) => textOf(one['message']));
  // A view may be ready before the API server lists its kind.
  const isListed = served.some((one) => fullName(one) === name);
  const messages = status('Ready') === 'True' && !isListed ? ['its kind is not in discovery yet', ...wrong] : wrong;
  return [
    name,
    textAt(objectAt(spec, 'names'), 'kind'),
    textAt(source, 'resource') + (group === '' ? '' : `.${group}`),
    status('Ready'),
    status('Complete'),
    messages.join('; ').replaceAll('\n', ' '),
  ];
}
