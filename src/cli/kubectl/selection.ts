import type { Command } from 'commander';
import { checkApplied } from './asking.js';
import { fullName, pathOf, type Resource } from './discovery.js';
import { UsageError } from './failure.js';
import type { Session } from './session.js';
import { type JsonObject, objectAt, objectsOf, textAt } from '../../apimachinery/json/json.js';
import type { WholeAnswer } from '../../client/cluster-client.js';

/** The flags that say which objects of a type are meant. */
export interface SelectionFlags {
  readonly allNamespaces?: boolean;
  readonly selector?: string;
  readonly fieldSelector?: string;
}

export const withSelection = (command: Command): Command =>
  command
    .option('-A, --all-namespaces', 'All namespaces.')
    .option('-l, --selector <selector>', 'Label selector.')
    .option('--field-selector <selector>', 'Field selector.');

/** One type, and the names of its objects that are meant; without names, those that the selectors let through. */
export interface Selected {
  readonly resource: Resource;
  readonly names: readonly string[];
}

/** Reads `TYPE`, `TYPE NAME…`, `TYPE/NAME…` and lists of types, as kubectl does. */
export async function selected(session: Session, args: readonly string[]): Promise<readonly Selected[]> {
  const [first, ...rest] = args;
  if (first === undefined) throw new UsageError('name the type of the objects, such as policyreports');
  const discovery = await session.discovery();
  if (first.includes('/')) {
    return args.map((arg) => {
      const [type = '', name = '', ...more] = arg.split('/');
      if (type === '' || name === '' || more.length > 0)
        throw new UsageError(`${arg}: with a slash in one argument, all arguments have to be TYPE/NAME`);
      return { resource: discovery.resource(type), names: [name] };
    });
  }
  const wrong = rest.find((name) => name.includes('/'));
  if (wrong !== undefined) throw new UsageError(`${wrong}: TYPE/NAME cannot follow a type`);
  const resources = first
    .split(',')
    .filter((type) => type !== '')
    .flatMap((type) => discovery.resourcesFor(type));
  return resources.map((resource) => ({ resource, names: rest }));
}

/** Returns the namespace to list a type in; undefined for all, and for types without namespaces. */
export function namespaceOf(session: Session, { namespaced }: Resource, flags: SelectionFlags): string | undefined {
  return namespaced && flags.allNamespaces !== true ? session.namespace : undefined;
}

export interface ListRequest {
  readonly resource: Resource;
  readonly flags: SelectionFlags;
  /** What is asked of Annex (`askedFor`). */
  readonly asked: Readonly<Record<string, string>>;
  readonly accept: string;
  /** Objects of one page; 0 gets all in one page. */
  readonly chunk: number;
  /** The maximum number of objects; undefined for all. */
  readonly limit?: number | undefined;
}

/** Returns the path of a list or watch. */
export function queryOf(
  session: Session,
  { resource, flags, asked }: ListRequest,
  more: Record<string, string>,
): string {
  const { selector = '', fieldSelector = '' } = flags;
  const query = new URLSearchParams({
    ...asked,
    ...(selector !== '' && { labelSelector: selector }),
    ...(fieldSelector !== '' && { fieldSelector }),
    ...more,
  });
  const path = pathOf(resource, namespaceOf(session, resource, flags));
  return query.size === 0 ? path : `${path}?${query.toString()}`;
}

/** Yields the pages of a list. Throws a Failure for an answer to something else than what was asked. */
export async function* pages(session: Session, request: ListRequest): AsyncGenerator<WholeAnswer> {
  const { chunk, limit = Infinity, resource, asked, accept } = request;
  let left = limit;
  for (let token = ''; ;) {
    const size = left === Infinity ? chunk : chunk === 0 ? left : Math.min(chunk, left);
    const paging = { ...(size > 0 && { limit: String(size) }), ...(token !== '' && { continue: token }) };
    const answer = await session.request({ method: 'GET', path: queryOf(session, request, paging), accept });
    if (Object.keys(asked).length > 0) checkApplied(asked, answer.headers, await session.discovery(), resource);
    yield answer;
    left -= countOf(answer.body);
    token = textAt(objectAt(answer.body, 'metadata'), 'continue');
    if (token === '' || left <= 0) return;
  }
}

const countOf = (list: JsonObject): number => objectsOf(list['items'] ?? list['rows']).length;

/** Returns the objects of a list, each with its type: lists of built-in types leave it out. */
export function itemsOf(list: JsonObject, { group, version, kind }: Resource): JsonObject[] {
  const apiVersion = group === '' ? version : `${group}/${version}`;
  return objectsOf(list['items']).map((item) => ({ ...item, apiVersion, kind }));
}

/** Throws a UsageError where names and conditions are given together. */
export function refuseNames(targets: readonly Selected[], flags: SelectionFlags, asked: object): void {
  if (targets.every(({ names }) => names.length === 0)) return;
  if (flags.selector !== undefined || flags.fieldSelector !== undefined || Object.keys(asked).length > 0)
    throw new UsageError('names cannot be given together with selectors, --where or an order');
  if (flags.allNamespaces === true && targets.some(({ resource }) => resource.namespaced))
    throw new UsageError('an object cannot be named across all namespaces');
}

/** Returns how a list is called in messages. */
export const inWords = (session: Session, resource: Resource, flags: SelectionFlags): string => {
  const namespace = namespaceOf(session, resource, flags);
  return `${fullName(resource)}${namespace === undefined ? '' : ` in the namespace ${namespace}`}`;
};
