import { type JsonObject, objectAt, textAt } from '../../../apimachinery/json/json.js';
import { fullName, pathOf, type Resource } from '../discovery.js';
import { Failure } from '../failure.js';
import { itemsOf, pages, type Selected, selected } from '../selection.js';
import type { Session } from '../session.js';

const CHUNK = 500;

/** Returns one of the kinds of undo. Throws a Failure if the server has none. */
export async function undoResource(session: Session, name: string): Promise<Resource> {
  const discovery = await session.discovery();
  const found = discovery.withVerb('get').find((one) => fullName(one) === `${name}.kubeannex.io`);
  if (found === undefined) throw new Failure(`the server keeps no history (it has no ${name}.kubeannex.io)`);
  return found;
}

/** Returns the one object that arguments name. */
export async function oneObject(
  session: Session,
  args: readonly string[],
): Promise<Selected & { readonly name: string }> {
  const all = await selected(session, args);
  const [first] = all;
  const [name] = first?.names ?? [];
  if (first === undefined || name === undefined || all.length > 1 || first.names.length > 1)
    throw new Failure('name one object: TYPE/NAME');
  return { ...first, name };
}

/** Lists revisions of objects of a type, oldest first. */
export async function revisionsOf(
  session: Session,
  resource: Resource,
  fields: Readonly<Record<string, string>>,
  { namespace, selector }: { readonly namespace: string | undefined; readonly selector?: string | undefined },
): Promise<JsonObject[]> {
  const kind = await undoResource(session, resource.namespaced ? 'objectrevisions' : 'clusterobjectrevisions');
  const all = { 'object.resource': fullName(resource), ...fields };
  const fieldSelector = Object.entries(all)
    .map(([field, value]) => `${field}=${value.replaceAll(/[\\,=]/g, '\\$&')}`)
    .join(',');
  const flags = { fieldSelector, allNamespaces: namespace === undefined, ...(selector !== undefined && { selector }) };
  const found: JsonObject[] = [];
  const request = { resource: kind, flags, asked: {}, accept: 'application/json', chunk: CHUNK };
  for await (const { body } of pages(session, request)) found.push(...itemsOf(body, kind));
  return found;
}

/** Gets a revision with its content. */
export async function wholeRevision(session: Session, revision: JsonObject): Promise<JsonObject> {
  const metadata = objectAt(revision, 'metadata');
  const namespace = textAt(metadata, 'namespace');
  const kind = await undoResource(session, namespace === '' ? 'clusterobjectrevisions' : 'objectrevisions');
  const path = `${pathOf(kind, namespace)}/${encodeURIComponent(textAt(metadata, 'name'))}`;
  return (await session.request({ method: 'GET', path })).body;
}
