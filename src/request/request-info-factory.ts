import type { RequestInfo } from './request-info.js';
import { parseFieldSelector } from '../apimachinery/selectors/field-selectors.js';
import { SelectorError } from '../apimachinery/selectors/labels.js';
import { first, flag, parseQuery, type Query } from './query.js';

const NO_PARTS: readonly string[] = [];

/** Thrown for a path that cannot be interpreted; the chain responds with a 500, as kube-apiserver does. */
export class RequestInfoError extends Error {
  override readonly name = 'RequestInfoError';
}

interface MutableInfo {
  isResourceRequest: boolean;
  path: string;
  verb: string;
  apiPrefix: string;
  apiGroup: string;
  apiVersion: string;
  namespace: string;
  resource: string;
  subresource: string;
  name: string;
  parts: readonly string[];
  fieldSelector: string;
  labelSelector: string;
}

const nonResource = (method: string, path: string): MutableInfo => ({
  isResourceRequest: false,
  path,
  verb: method.toLowerCase(),
  apiPrefix: '',
  apiGroup: '',
  apiVersion: '',
  namespace: '',
  resource: '',
  subresource: '',
  name: '',
  parts: NO_PARTS,
  fieldSelector: '',
  labelSelector: '',
});

function verbOf(method: string): string {
  switch (method) {
    case 'POST':
      return 'create';
    case 'GET':
    case 'HEAD':
      return 'get';
    case 'PUT':
      return 'update';
    case 'PATCH':
      return 'patch';
    case 'DELETE':
      return 'delete';
    default:
      return '';
  }
}

/** More parts than any path with a meaning has: what follows stays in the last one, so that half a million slashes cost nothing. */
const MAX_SEGMENTS = 64;

/** Returns the parts of a path without its outer slashes. Written by hand, because `split` calls V8's runtime, which costs more. */
function segments(path: string): string[] {
  let start = 0;
  let end = path.length;
  while (start < end && path.charCodeAt(start) === 47) start++;
  while (end > start && path.charCodeAt(end - 1) === 47) end--;
  const all: string[] = [];
  for (
    let at = path.indexOf('/', start);
    at >= 0 && at < end && all.length < MAX_SEGMENTS;
    at = path.indexOf('/', start)
  ) {
    all.push(path.slice(start, at));
    start = at + 1;
  }
  all.push(path.slice(start, end));
  return all;
}

/**
 * Interprets a method, a decoded path and a raw query (apiserver, RequestInfoFactory with the prefixes `api` and `apis`). Throws
 * RequestInfoError for `/api/v1/watch` and similar paths.
 */
export function newRequestInfo(method: string, path: string, rawQuery: string): RequestInfo {
  const info = nonResource(method, path);
  if (!path.startsWith('api', firstLetter(path))) return info;
  const all = segments(path);
  const prefix = all[0];
  if (all.length < 3 || (prefix !== 'api' && prefix !== 'apis')) return info;
  info.apiPrefix = prefix;
  let at = 1;
  if (prefix === 'apis') {
    if (all.length < 4) return info;
    info.apiGroup = all[1] ?? '';
    at = 2;
  }
  info.isResourceRequest = true;
  info.apiVersion = all[at] ?? '';
  at++;
  const head = all[at];
  const byPath = head === 'watch' || head === 'proxy';
  if (byPath) {
    if (all.length - at < 2) {
      const shown = rawQuery === '' ? path : `${path}?${rawQuery}`;
      throw new RequestInfoError(`unable to determine kind and namespace from url, ${shown}`);
    }
    info.verb = head;
    at++;
  } else info.verb = verbOf(method);
  fillParts(info, all, at);
  if (info.name === '') refineCollectionVerb(info, rawQuery);
  if (!byPath && rawQuery !== '') fillSelectors(info, rawQuery);
  return info;
}

/** Returns the index after the leading slashes. */
function firstLetter(path: string): number {
  let i = 0;
  while (path.charCodeAt(i) === 47) i++;
  return i;
}

function fillParts(info: MutableInfo, all: readonly string[], from: number): void {
  let at = from;
  if (all[at] === 'namespaces' && all.length - at > 1) {
    info.namespace = all[at + 1] ?? '';
    const third = all[at + 2];
    if (third !== undefined && third !== 'status' && third !== 'finalize') at += 2;
  }
  const parts = all.slice(at);
  info.parts = parts;
  if (parts.length >= 3 && info.verb !== 'proxy') info.subresource = parts[2] ?? '';
  if (parts.length >= 2) info.name = parts[1] ?? '';
  info.resource = parts[0] ?? '';
}

function refineCollectionVerb(info: MutableInfo, rawQuery: string): void {
  if (info.verb === 'delete') {
    info.verb = 'deletecollection';
    return;
  }
  if (info.verb !== 'get') return;
  if (rawQuery === '') {
    info.verb = 'list';
    return;
  }
  const query = parseQuery(rawQuery);
  info.verb = flag(query, 'watch') ? 'watch' : 'list';
  if (!decodable(query)) return;
  const name = exactName(first(query, 'fieldSelector'));
  if (name !== undefined && isPathSegment(name)) info.name = name;
}

function fillSelectors(info: MutableInfo, rawQuery: string): void {
  if (info.verb !== 'list' && info.verb !== 'watch' && info.verb !== 'deletecollection') return;
  if (!rawQuery.includes('Selector') && !rawQuery.includes('%')) return;
  const query = parseQuery(rawQuery);
  info.fieldSelector = first(query, 'fieldSelector');
  info.labelSelector = first(query, 'labelSelector');
}

/** Reports whether the list options can be decoded: one that is not a number invalidates all of them. */
function decodable(query: Query): boolean {
  for (const key of ['limit', 'timeoutSeconds']) {
    const value = query.get(key)?.[0];
    if (value !== undefined && value !== '' && !/^[+-]?\d{1,19}$/.test(value)) return false;
  }
  return true;
}

/** The longest selector that is searched for a name, in characters: this comes before authentication, and most have one term. */
const MAX_NAME_SELECTOR = 4096;

/**
 * Returns the value that the field selector requires of metadata.name; undefined if it requires none, is too long, or cannot be
 * parsed. Without the name, the authorizer decides about the whole collection, which takes more rights, not fewer.
 */
function exactName(selector: string): string | undefined {
  if (selector.length > MAX_NAME_SELECTOR || !selector.includes('metadata.name')) return undefined;
  try {
    return parseFieldSelector(selector).requiresExactMatch('metadata.name');
  } catch (error) {
    if (error instanceof SelectorError) return undefined;
    throw error;
  }
}

const isPathSegment = (name: string): boolean => name !== '.' && name !== '..' && !/[/%]/.test(name);

const LONG_RUNNING_SUBRESOURCES = new Set(['attach', 'exec', 'proxy', 'log', 'portforward']);

/** Reports whether a request has no deadline and does not count toward the in-flight limits. */
export function isLongRunning(info: RequestInfo): boolean {
  if (info.verb === 'watch' || info.verb === 'proxy') return true;
  return info.isResourceRequest && info.subresource !== '' && LONG_RUNNING_SUBRESOURCES.has(info.subresource);
}
