import { parseJson } from '../../apimachinery/json/decode.js';
import { isObject, type JsonObject, objectAt, objectsOf, textAt } from '../../apimachinery/json/json.js';
import type { LineAnswer } from '../../client/cluster-client.js';
import { sleep } from '../../util/clock.js';
import { checkApplied } from './asking.js';
import { Failure, Refusal, UsageError } from './failure.js';
import { explained } from './hints.js';
import { eachPage, type GetFlags, listOf, revisionOf, TABLE, tablePrinter } from './listing.js';
import { indentedJson } from './print/json-text.js';
import type { ObjectPrinter } from './print/printer.js';
import { itemsOf, type ListRequest, queryOf, type Selected } from './selection.js';
import type { Session } from './session.js';

const NEVER = new AbortController().signal;
/** A watch that ends at once is begun again after a while. */
const PAUSE_MILLIS = 1_000;

/** Prints objects, or Tables, as a list and then as events. */
interface Sink {
  readonly accept: string;
  list(list: JsonObject): string;
  event(type: string, object: JsonObject): string;
}

/** Shows a list and then its changes, until the user ends it. A watch that the server ends goes on where it was. */
export async function follow(
  session: Session,
  targets: readonly Selected[],
  flags: GetFlags,
  printer: ObjectPrinter | undefined,
): Promise<void> {
  const [target, ...more] = targets;
  if (target === undefined || more.length > 0 || target.names.length > 1)
    throw new UsageError('a watch is for one type, or for one object');
  const { resource, names } = target;
  if (flags.limit !== undefined) throw new UsageError('--limit: a watch shows all objects');
  const [name] = names;
  const narrowed: GetFlags = name === undefined ? flags : { ...flags, fieldSelector: `metadata.name=${name}` };
  const sink = printer === undefined ? tables(flags, target) : objectsWith(printer, flags, target);
  const request = listOf(resource, narrowed, sink.accept);
  let revision = '';
  await eachPage(session, request, (list) => {
    revision = revisionOf(list);
    if (flags.watchOnly !== true) session.terminal.out(sink.list(list));
  });
  const { orderBy: _, ...asked } = request.asked;
  await explained(session, resource, asked, async () => {
    for (;;) {
      const began = session.clock.monotonic();
      revision = await watchOnce(session, { ...request, asked }, sink, revision);
      if (session.clock.monotonic() - began < PAUSE_MILLIS) await sleep(session.clock, PAUSE_MILLIS);
    }
  });
}

/** Shows the events of one watch until it ends. Returns the revision that the next one begins at. */
async function watchOnce(session: Session, request: ListRequest, sink: Sink, revision: string): Promise<string> {
  const more = { watch: 'true', resourceVersion: revision, allowWatchBookmarks: 'true' };
  const answer = await opened(session, queryOf(session, request, more), sink.accept);
  const { asked, resource } = request;
  if (Object.keys(asked).length > 0) checkApplied(asked, answer.headers, await session.discovery(), resource);
  session.showWarnings(answer.headers['warning']);
  let last = revision;
  for await (const line of answer.lines) {
    const event = parseJson(line);
    if (!isObject(event)) continue;
    const type = textAt(event, 'type');
    const object = objectAt(event, 'object') ?? {};
    if (type === 'ERROR') throw Refusal.of(Number(object['code'] ?? 0), object);
    if (type !== 'BOOKMARK') session.terminal.out(sink.event(type, object));
    last = revisionIn(object) || last;
  }
  return last;
}

const opened = (session: Session, path: string, accept: string): Promise<LineAnswer> =>
  session.client.stream({ method: 'GET', path, accept, timeoutMillis: 0 }, NEVER);

/** A Table has the revision of its object. */
const revisionIn = (object: JsonObject): string =>
  textAt(objectAt(objectAt(objectsOf(object['rows']).at(-1), 'object'), 'metadata'), 'resourceVersion') ||
  revisionOf(object);

function tables(flags: GetFlags, { resource }: Selected): Sink {
  const table = tablePrinter(flags, resource);
  return {
    accept: TABLE,
    list: (list) => table.print(list, 'ADDED'),
    event: (type, object) => table.print(object, type),
  };
}

function objectsWith(
  printer: ObjectPrinter,
  { outputWatchEvents, output = '' }: GetFlags,
  { resource }: Selected,
): Sink {
  if (outputWatchEvents === true && !/^=?json$/.test(output))
    throw new Failure('--output-watch-events is for tables and -o json');
  const one = (type: string, object: JsonObject): string =>
    outputWatchEvents === true ? `${indentedJson({ type, object })}\n` : printer.one(object);
  return {
    accept: 'application/json',
    list: (list) =>
      itemsOf(list, resource)
        .map((object) => one('ADDED', object))
        .join(''),
    event: one,
  };
}
