import { type OpenApiGroupVersion, type OpenApiKind, type OpenApiSubresource, pathOf } from './source.js';

type HttpMethod = 'get' | 'put' | 'post' | 'delete' | 'patch';

/** One operation on a path, independent of the version of OpenAPI. */
export interface Operation {
  readonly path: string;
  readonly method: HttpMethod;
  readonly action: string;
  readonly id: string;
  readonly description: string;
  /** The names of the query parameters. */
  readonly query: readonly string[];
  /** The definition of the request body. */
  readonly body?: { readonly definition: string; readonly required: boolean } | undefined;
  readonly consumes: readonly string[];
  readonly produces: readonly string[];
  /** The definition of the response, and the status codes that carry it. */
  readonly answer: string;
  readonly codes: readonly string[];
  readonly gvk: { readonly group: string; readonly version: string; readonly kind: string };
}

export const meta = 'io.k8s.apimachinery.pkg.apis.meta.v1';

/** Types of query parameters; those not listed are strings. */
export const queryTypes: Readonly<Record<string, string>> = {
  allowWatchBookmarks: 'boolean',
  limit: 'integer',
  sendInitialEvents: 'boolean',
  timeoutSeconds: 'integer',
  watch: 'boolean',
  gracePeriodSeconds: 'integer',
  ignoreStoreReadErrorWithClusterBreakingPotential: 'boolean',
  orphanDependents: 'boolean',
  force: 'boolean',
};

const listQuery = [
  'allowWatchBookmarks',
  'continue',
  'fieldSelector',
  'labelSelector',
  'limit',
  'resourceVersion',
  'resourceVersionMatch',
  'sendInitialEvents',
  'shardSelector',
  'timeoutSeconds',
  'watch',
];
const deleteQuery = [
  'dryRun',
  'gracePeriodSeconds',
  'ignoreStoreReadErrorWithClusterBreakingPotential',
  'orphanDependents',
  'propagationPolicy',
];
const writeQuery = ['dryRun', 'fieldManager', 'fieldValidation'];

const json = 'application/json';
const yaml = 'application/yaml';
const protobuf = 'application/vnd.kubernetes.protobuf';
const customTypes = [json, yaml];
const builtInTypes = [json, yaml, protobuf];
const streamTypes = [...builtInTypes, `${json};stream=watch`, `${protobuf};stream=watch`];
const customPatches = ['application/json-patch+json', 'application/merge-patch+json', 'application/apply-patch+yaml'];
const builtInPatches = [
  ...customPatches.slice(0, 2),
  'application/strategic-merge-patch+json',
  'application/apply-patch+yaml',
];

/** Converts `foo.example.com` to `FooExampleCom`. The suffix of Kubernetes' own groups is dropped. */
export function camelGroup(group: string): string {
  if (group === '') return 'Core';
  return group
    .replace(/\.k8s\.io$/, '')
    .split(/[.-]/)
    .map((part) => part.charAt(0).toUpperCase() + part.slice(1))
    .join('');
}

export function tagOf(gv: { readonly group: string; readonly version: string }): string {
  const group = camelGroup(gv.group);
  return `${group.charAt(0).toLowerCase()}${group.slice(1)}_${gv.version}`;
}

/** Returns the definition name of a custom resource, such as `com.example.foo.v1.Bar`. */
export const customDefinition = (gv: { readonly group: string; readonly version: string }, kind: string): string =>
  `${gv.group.split('.').reverse().join('.')}.${gv.version}.${kind}`;

/** Returns the name of a type's definition. */
export type Definitions = (type: { readonly group: string; readonly version: string; readonly kind: string }) => string;

interface Verb {
  readonly verb: string;
  readonly method: HttpMethod;
  readonly action: string;
  readonly word: string;
}

const collectionVerbs: readonly Verb[] = [
  { verb: 'list', method: 'get', action: 'list', word: 'list' },
  { verb: 'create', method: 'post', action: 'post', word: 'create' },
  { verb: 'deletecollection', method: 'delete', action: 'deletecollection', word: 'deletecollection' },
];
const itemVerbs: readonly Verb[] = [
  { verb: 'get', method: 'get', action: 'get', word: 'read' },
  { verb: 'update', method: 'put', action: 'put', word: 'replace' },
  { verb: 'create', method: 'post', action: 'post', word: 'create' },
  { verb: 'delete', method: 'delete', action: 'delete', word: 'delete' },
  { verb: 'patch', method: 'patch', action: 'patch', word: 'patch' },
];

/** Returns all operations of a group version. */
export function operationsOf(gv: OpenApiGroupVersion, definitions: Definitions): Operation[] {
  return gv.kinds.flatMap((kind) => kindOperations(gv, kind, definitions));
}

function kindOperations(gv: OpenApiGroupVersion, kind: OpenApiKind, definitions: Definitions): Operation[] {
  const base = `/${pathOf(gv)}`;
  const root = `${base}/${kind.namespaced ? 'namespaces/{namespace}/' : ''}${kind.plural}`;
  const make = (verb: Verb, path: string, sub?: OpenApiSubresource): Operation =>
    operation(gv, kind, definitions, verb, path, sub);
  const out: Operation[] = [];
  for (const verb of collectionVerbs) if (kind.verbs.includes(verb.verb)) out.push(make(verb, root));
  for (const verb of itemVerbs) {
    if (verb.verb !== 'create' && kind.verbs.includes(verb.verb)) out.push(make(verb, `${root}/{name}`));
  }
  for (const sub of kind.subresources) {
    for (const verb of itemVerbs)
      if (sub.verbs.includes(verb.verb)) out.push(make(verb, `${root}/{name}/${sub.name}`, sub));
  }
  const [list] = out;
  if (kind.namespaced && list?.action === 'list') {
    const id = `list${camelGroup(gv.group)}${upper(gv.version)}${kind.kind}ForAllNamespaces`;
    out.push({ ...list, path: `${base}/${kind.plural}`, id });
  }
  return out;
}

const upper = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1);

function operation(
  gv: OpenApiGroupVersion,
  kind: OpenApiKind,
  definitions: Definitions,
  verb: Verb,
  path: string,
  sub: OpenApiSubresource | undefined,
): Operation {
  const own = { group: gv.group, version: gv.version, kind: kind.kind };
  const type = sub?.type ?? own;
  const object = definitions(type);
  const removes = verb.action === 'delete' || verb.action === 'deletecollection';
  const deletes = removes ? `${meta}.Status` : object;
  const answer = verb.action === 'list' ? definitions({ ...own, kind: kind.listKind }) : deletes;
  const scope = kind.namespaced ? 'Namespaced' : '';
  const word = verb.action === 'deletecollection' ? 'delete' : verb.word;
  const collection = verb.action === 'deletecollection' ? 'Collection' : '';
  return {
    path,
    method: verb.method,
    action: verb.action,
    id: `${word}${camelGroup(gv.group)}${upper(gv.version)}${collection}${scope}${kind.kind}${sub === undefined ? '' : upper(sub.name)}`,
    description: describe(gv.custom || verb.word !== 'list' ? verb.word : 'list or watch', kind.kind, sub?.name),
    query: queryOf(verb.action, gv.custom),
    body: bodyOf(verb.action, object, gv.custom),
    consumes: consumes(verb.action, gv.custom),
    produces: produces(verb.action, gv.custom, kind.noProtobuf === true),
    answer,
    codes: codesOf(verb.action, gv.custom),
    gvk: gv.custom ? own : type,
  };
}

function queryOf(action: string, custom: boolean): readonly string[] {
  switch (action) {
    case 'list':
      return listQuery;
    case 'deletecollection':
      if (custom) return listQuery;
      return [
        ...new Set([...listQuery.filter((name) => name !== 'watch' && name !== 'allowWatchBookmarks'), ...deleteQuery]),
      ].sort();
    case 'delete':
      return deleteQuery;
    case 'patch':
      return [...writeQuery, 'force'];
    case 'get':
      return custom ? ['resourceVersion'] : [];
    default:
      return writeQuery;
  }
}

function bodyOf(action: string, object: string, custom: boolean): Operation['body'] {
  if (action === 'post' || action === 'put') return { definition: object, required: true };
  if (action === 'patch') return { definition: `${meta}.Patch`, required: true };
  if (action === 'delete' || (action === 'deletecollection' && !custom))
    return { definition: `${meta}.DeleteOptions`, required: false };
  return undefined;
}

function consumes(action: string, custom: boolean): readonly string[] {
  if (action === 'patch') return custom ? customPatches : builtInPatches;
  return custom ? customTypes : ['*/*'];
}

function produces(action: string, custom: boolean, noProtobuf: boolean): readonly string[] {
  if (custom) return customTypes;
  const types = action === 'list' ? streamTypes : builtInTypes;
  return noProtobuf ? types.filter((type) => !type.startsWith(protobuf)) : types;
}

function codesOf(action: string, custom: boolean): readonly string[] {
  if (action === 'post') return ['200', '201', '202'];
  if (action === 'put' || (action === 'patch' && !custom)) return ['200', '201'];
  return action === 'delete' ? ['200', '202'] : ['200'];
}

function describe(word: string, kind: string, sub: string | undefined): string {
  const of = sub === undefined ? '' : ` ${sub} of`;
  switch (word) {
    case 'list':
    case 'list or watch':
      return `${word}${of} objects of kind ${kind}`;
    case 'create':
    case 'delete':
      return `${word}${of} ${/^[AEIOU]/.test(kind) ? 'an' : 'a'} ${kind}`;
    case 'patch':
      return `partially update${of} the specified ${kind}`;
    case 'deletecollection':
      return `delete collection of${of} ${kind}`;
    default:
      return `${word}${of} the specified ${kind}`;
  }
}
