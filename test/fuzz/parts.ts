import fc from 'fast-check';
import { type Kind, NAMES } from './fixtures.js';
import * as values from './values.js';

export const pick = <T>(list: readonly T[]): fc.Arbitrary<T> => fc.constantFrom(...list);
/** Picks `usual` most of the time. */
export const mostly = <T>(usual: T, others: fc.Arbitrary<T>, weight = 6): fc.Arbitrary<T> =>
  fc.oneof({ weight, arbitrary: fc.constant(usual) }, { weight: 1, arbitrary: others });

export type Pool = readonly (readonly [name: string, values: readonly string[]])[];

/** Parameters that are sent unencoded, including percent signs. */
export const VERBATIM = new Set(['fieldManager', 'continue', 'resourceVersion']);
export const encode = (name: string, value: string): string =>
  VERBATIM.has(name) ? value.replace(/ /g, '+') : encodeURIComponent(value).replace(/%7B(ns|rv:[^%]*)%7D/g, '{$1}');

/** Returns some of the pool's parameters, occasionally one of them twice. */
export function query(pool: Pool, few = 3): fc.Arbitrary<string> {
  const one = pick(pool).chain(([name, list]) => pick(list).map((value) => `${name}=${encode(name, value)}`));
  const odd = pick([
    'unknown=1',
    'watch',
    'limit',
    '=',
    '&',
    'a=%zz',
    'limit=%31',
    'Watch=true',
    'limit=1;continue=x',
    'a=%00',
    'pretty',
  ]);
  return fc
    .array(fc.oneof({ weight: 30, arbitrary: one }, { weight: 1, arbitrary: odd }), { maxLength: few })
    .map((all) => (all.length === 0 ? '' : `?${all.join('&')}`));
}

export const LIST: Pool = [
  ['resourceVersion', values.VERSIONS],
  ['resourceVersion', values.VERSIONS],
  ['resourceVersionMatch', values.MATCHES],
  ['resourceVersionMatch', values.MATCHES],
  ['limit', values.LIMITS],
  ['continue', values.TOKENS],
  ['labelSelector', values.LABEL_SELECTORS],
  ['labelSelector', values.LABEL_SELECTORS],
  ['fieldSelector', values.FIELD_SELECTORS],
  ['fieldSelector', values.FIELD_SELECTORS],
  ['timeoutSeconds', values.SECONDS],
  ['sendInitialEvents', values.BOOLEANS],
  ['allowWatchBookmarks', values.BOOLEANS],
  ['pretty', values.PRETTY],
  ['includeObject', values.INCLUDES],
];
export const GET: Pool = [
  ['resourceVersion', values.VERSIONS],
  ['pretty', values.PRETTY],
  ['includeObject', values.INCLUDES],
  ['resourceVersionMatch', values.MATCHES],
  ['limit', values.LIMITS],
  ['watch', values.BOOLEANS],
  ['fieldSelector', values.FIELD_SELECTORS],
];
export const WATCH: Pool = [
  ['resourceVersion', values.VERSIONS],
  ['resourceVersion', values.VERSIONS],
  ['resourceVersionMatch', values.MATCHES],
  ['sendInitialEvents', values.BOOLEANS],
  ['sendInitialEvents', values.BOOLEANS],
  ['allowWatchBookmarks', values.BOOLEANS],
  ['limit', values.LIMITS],
  ['continue', values.TOKENS],
  ['labelSelector', values.LABEL_SELECTORS],
  ['fieldSelector', values.FIELD_SELECTORS],
  ['includeObject', values.INCLUDES],
  ['timeoutSeconds', values.SECONDS],
];
export const WRITE: Pool = [
  ['dryRun', values.DRY_RUNS],
  ['fieldManager', values.MANAGERS],
  ['fieldValidation', values.VALIDATIONS],
  ['fieldValidation', values.VALIDATIONS],
  ['pretty', values.PRETTY],
];
export const PATCH: Pool = [...WRITE, ['force', values.BOOLEANS], ['fieldManager', values.MANAGERS]];
export const DELETE: Pool = [
  ['dryRun', values.DRY_RUNS],
  ['gracePeriodSeconds', values.GRACES],
  ['propagationPolicy', values.POLICIES],
  ['orphanDependents', values.BOOLEANS],
  ['ignoreStoreReadErrorWithClusterBreakingPotential', values.BOOLEANS],
  ['pretty', values.PRETTY],
  ['preconditions', ['x']],
];

export const ABSENT = ['none', 'w9', 'A_b', 'x'.repeat(254), '..', '%2e', 'a%2Fb', '%C3%BC', 'a%20b', 'w1.'];

export const collection = (kind: Kind): string =>
  `${kind.root}${kind.namespaced ? '/namespaces/{ns}' : ''}/${kind.plural}`;
export const everywhere = (kind: Kind): string => `${kind.root}/${kind.plural}`;
export const nameOf = mostly('w1', pick([...NAMES, ...NAMES, ...NAMES, ...ABSENT]), 2);
export const objectPath = (kind: Kind): fc.Arbitrary<string> => nameOf.map((name) => `${collection(kind)}/${name}`);
export const subPath = (kind: Kind): fc.Arbitrary<string> =>
  kind.subresources.length === 0
    ? objectPath(kind)
    : fc.tuple(nameOf, pick(kind.subresources)).map(([name, sub]) => `${collection(kind)}/${name}/${sub}`);

/** Paths that nothing serves, or that serve another resource. */
export const oddPath = (kind: Kind): fc.Arbitrary<string> =>
  pick([
    `${kind.root}/namespaces/{ns}/${kind.plural}`,
    `${kind.root}/namespaces//${kind.plural}`,
    `${kind.root}/namespaces/nowhere/${kind.plural}`,
    `${kind.root}/namespaces/A_b/${kind.plural}/w1`,
    `${collection(kind)}/`,
    `${collection(kind)}/w1/`,
    `${collection(kind)}//w1`,
    `${everywhere(kind)}/w1`,
    `${kind.root}/nothing`,
    `${kind.root}/namespaces/{ns}/nothing/w1`,
    `${kind.root}/${kind.plural}/w1/status`,
    `${collection(kind)}/w1/status/x`,
    `${collection(kind)}/w1/nothing`,
    `${kind.root}x/${kind.plural}`,
    `${kind.root}/watch/${kind.plural}`,
    `${kind.root}/watch/namespaces/{ns}/${kind.plural}`,
    `${kind.root}/watch/namespaces/{ns}/${kind.plural}/w1`,
    `${kind.root}/watch`,
    `${kind.root}/proxy/${kind.plural}`,
    `${kind.root}/proxy/namespaces/{ns}/${kind.plural}/w1`,
    `${kind.root}/redirect/${kind.plural}`,
    `${collection(kind)}/..`,
    `${collection(kind)}/./w1`,
    `/api/v1/namespaces/{ns}/status`,
    `/api/v1/namespaces/{ns}/finalize`,
    `/apis/nothing.example.com/v1/things`,
    '/apis/fuzz.example.com/v2/widgets',
    '/api/v2/pods',
    '/nothing',
    `/${kind.plural}`,
    '/healthz/x',
  ]);

export const accept = mostly<string | undefined>(undefined, pick(values.ACCEPTS), 2);
export const headersOf = (one: string | undefined, type?: string): Record<string, string> => ({
  ...(one === undefined ? {} : { accept: one }),
  ...(type === undefined ? {} : { 'content-type': type }),
});
