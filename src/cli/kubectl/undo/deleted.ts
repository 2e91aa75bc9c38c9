import { type JsonObject, objectAt, textAt } from '../../../apimachinery/json/json.js';
import { fullName, type Resource } from '../discovery.js';
import { type GetFlags, METADATA } from '../listing.js';
import { type ObjectPrinter, printerOf } from '../print/printer.js';
import { TabWriter } from '../print/tab-writer.js';
import { itemsOf, namespaceOf, pages, type Selected } from '../selection.js';
import type { Session } from '../session.js';
import { whenOf } from './history.js';
import { revisionsOf, wholeRevision } from './revisions.js';

/** `kubectl annex get --deleted`: the objects that are gone and can be brought back, those that went last first. */
export async function showDeleted(session: Session, targets: readonly Selected[], flags: GetFlags): Promise<void> {
  const found: { readonly resource: Resource; readonly deletion: JsonObject }[] = [];
  for (const { resource, names } of targets) {
    const deletions = await deletionsOf(session, resource, flags);
    for (const deletion of deletions)
      if (names.length === 0 || names.includes(nameIn(deletion))) found.push({ resource, deletion });
  }
  const printer = flags.output === 'wide' ? undefined : printerOf(flags);
  if (printer !== undefined)
    await showContents(
      session,
      found.map(({ deletion }) => deletion),
      printer,
    );
  else if (found.length === 0) session.terminal.error('No deleted objects are kept');
  else {
    const now = session.clock.now();
    const isMixed = targets.length > 1;
    const rows = found.map(({ resource, deletion }) => rowOf(isMixed ? resource : undefined, deletion, now));
    session.terminal.out(new TabWriter().format(flags.headers === false ? rows : [HEADER, ...rows]));
  }
}

const HEADER = ['NAMESPACE', 'NAME', 'DELETED', 'BY', 'REVISION'];

function rowOf(resource: Resource | undefined, deletion: JsonObject, now: number): string[] {
  const kind = resource === undefined ? '' : `${fullName(resource)}/`;
  return [
    textAt(objectAt(deletion, 'object'), 'namespace') || '<none>',
    kind + nameIn(deletion),
    whenOf(deletion, now),
    textAt(objectAt(deletion, 'by'), 'user') || '<server>',
    textAt(deletion, 'revision'),
  ];
}

async function showContents(session: Session, deletions: readonly JsonObject[], printer: ObjectPrinter): Promise<void> {
  const contents: JsonObject[] = [];
  for (const deletion of deletions) contents.push(objectAt(await wholeRevision(session, deletion), 'content') ?? {});
  session.terminal.out(printer.all(contents, true));
}

const nameIn = (revision: JsonObject): string => textAt(objectAt(revision, 'object'), 'name');

const keyOf = (namespace: string, name: string): string => `${namespace}/${name}`;

/** Returns the last deletion of each object that does not exist, newest first. */
async function deletionsOf(session: Session, resource: Resource, flags: GetFlags): Promise<JsonObject[]> {
  const namespace = namespaceOf(session, resource, flags);
  const { selector } = flags;
  const all = await revisionsOf(session, resource, { operation: 'Delete' }, { namespace, selector });
  const existing = new Set<string>();
  const request = {
    resource,
    flags: { allNamespaces: namespace === undefined },
    asked: {},
    accept: METADATA,
    chunk: 500,
  };
  for await (const { body } of pages(session, request)) {
    for (const { metadata } of itemsOf(body, resource)) {
      const meta = metadata as JsonObject;
      existing.add(keyOf(textAt(meta, 'namespace'), textAt(meta, 'name')));
    }
  }
  const found = new Map<string, JsonObject>();
  for (const deletion of all.reverse()) {
    const about = objectAt(deletion, 'object');
    const key = keyOf(textAt(about, 'namespace'), textAt(about, 'name'));
    if (!existing.has(key) && !found.has(key)) found.set(key, deletion);
  }
  return [...found.values()];
}
