import { Timestamp } from '@annex/cel';
import { newBadRequest } from '../apimachinery/meta/errors.js';
import { unescapePath } from '../request/query.js';
import type { CachedObject, Failures, ObjectPredicate, Ordering } from '../storage/cacher/interfaces.js';
import { withCondition } from '../storage/cacher/condition.js';
import { boundTo } from '../storage/continue-token.js';
import type { AskedKind } from './object-type.js';
import { compileOrderBy } from './order.js';
import { compileWhere } from './where.js';

const NAMES = ['where', 'orderBy', 'count'] as const;

/** The value that `count` may have. */
const EXACT = 'exact';

/** The parameters of a request, decoded. */
interface Parameters {
  all(name: string): readonly string[];
}

/** What a list or watch asks for with `where`, `orderBy` and `count`. */
export interface Asked {
  readonly predicate: ObjectPredicate;
  readonly order: Ordering | undefined;
  readonly exactCount: boolean;
  /** The parameters that were applied, as the header of the response names them. */
  readonly applied: readonly string[];
  /** What a continue token of the list is bound to; undefined for a list as kube-apiserver has it. */
  readonly binding: string | undefined;
  /** The time of the request if an expression may use it, in milliseconds since the epoch. */
  readonly now: number;
  /** Describes the objects on which `where` failed. */
  describe(failures: Failures): string;
}

export interface AskingRequest {
  readonly url: string;
  readonly isWatch: boolean;
  /** Milliseconds since the epoch. */
  readonly receivedAt: number;
  /** The continue token, or ''. */
  readonly continue: string;
  /** What else decides about the objects of the list: namespace, name, and selectors. */
  readonly scope: readonly string[];
}

/**
 * Reads the parameters of a list or watch and adds the condition of `where` to its predicate. Returns undefined if it has none of them.
 * Throws a 400 for what they do not mean.
 */
export function readAsking(
  parameters: Parameters,
  selectors: ObjectPredicate,
  served: AskedKind,
  request: AskingRequest,
): Asked | undefined {
  if (!request.url.includes('?')) return undefined;
  const { isWatch } = request;
  const [where = '', orderBy = '', count = ''] = NAMES.map((name) => only(parameters, name, request.url));
  if (isWatch && orderBy !== '') throw newBadRequest('orderBy: a watch has no order');
  if (isWatch && count !== '') throw newBadRequest('count: a watch counts nothing');
  if (count !== '' && count !== EXACT) throw newBadRequest(`count: may only be ${EXACT}`);
  if (where === '' && orderBy === '' && count === '') return undefined;
  const now = boundTo(request.continue)?.now ?? request.receivedAt;
  const time = new Timestamp(Math.floor(now / 1000), (((now % 1000) + 1000) % 1000) * 1e6);
  const condition = where === '' ? undefined : compileWhere(where, served, isWatch ? undefined : time);
  const order = orderBy === '' ? undefined : compileOrderBy(orderBy, served, time);
  const isBound = condition !== undefined || order !== undefined;
  return {
    predicate: condition === undefined ? selectors : withCondition(selectors, condition),
    order,
    exactCount: count === EXACT,
    applied: NAMES.filter((_, i) => [where, orderBy, count][i] !== ''),
    binding: isBound ? JSON.stringify([listed(served), where, orderBy, ...request.scope]) : undefined,
    now,
    describe: ({ count: failed, first }) => {
      const objects = failed === 1 ? '1 object' : `${String(failed)} objects`;
      const why = condition?.failureOn(first) ?? '';
      return `where: failed on ${objects}, which the list leaves out: ${nameOf(served, first)}: ${why}`;
    },
  };
}

const listed = ({ groupVersion, groupResource }: AskedKind): string => `${groupVersion}/${groupResource.resource}`;

const nameOf = ({ groupResource }: AskedKind, { key }: CachedObject): string => `${groupResource.resource}/${key}`;

/** Returns the value of a parameter; '' if it is absent or empty. */
function only(parameters: Parameters, name: string, url: string): string {
  const values = parameters.all(name);
  const given = countOf(url, name);
  if (given > 1) throw newBadRequest(`${name}: may be given only once`);
  if (given > values.length) throw newBadRequest(`${name}: the value is not escaped as in a URL`);
  return values[0] ?? '';
}

/** Throws a 400 if a request has one of the parameters, with or without a value, that is no list or watch. */
export function refuseAsking(url: string, verb: string): void {
  if (!url.includes('?')) return;
  for (const name of NAMES) {
    if (countOf(url, name) > 0)
      throw newBadRequest(`${name}: selects nothing for ${verb || 'this request'}, only for list and watch`);
  }
}

/** Returns how often a URL has a parameter, also where its value cannot be decoded, so that the parameter would be ignored. */
function countOf(url: string, name: string): number {
  const at = url.indexOf('?');
  if (at < 0) return 0;
  let count = 0;
  for (const pair of url.slice(at + 1).split(/[&;]/)) {
    const equals = pair.indexOf('=');
    const key = equals < 0 ? pair : pair.slice(0, equals);
    if (key === name || (key.includes('%') && unescapePath(key) === name)) count++;
  }
  return count;
}
