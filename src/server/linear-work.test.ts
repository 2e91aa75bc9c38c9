/**
 * Work on text that clients choose is linear in its length: each parser runs on hostile inputs of two sizes. Sizes are such that a
 * quadratic takes seconds, where a linear parser takes milliseconds, so that a busy machine does not matter.
 */
import type { AuthenticationRequest } from '../authentication/authenticator/interfaces.js';
import { CborReader } from '../apimachinery/cbor/reader.js';
import { decodeDetailed, parseJson, parsePlainJson } from '../apimachinery/json/decode.js';
import type { JsonObject, JsonValue } from '../apimachinery/json/json.js';
import { canonicalTime } from '../apimachinery/meta/time.js';
import { Quantity } from '../apimachinery/meta/quantity.js';
import { applyJsonPatch, decodeJsonPatch } from '../apimachinery/patch/json-patch.js';
import { applyMergePatch, decodeMergePatch } from '../apimachinery/patch/merge-patch.js';
import { applyStrategicMergePatch } from '../apimachinery/patch/strategic-merge.js';
import { loadProtobufCodec, readEnvelope } from '../apimachinery/protobuf/protobuf.js';
import { builtinSchema } from '../apimachinery/scheme/builtin-schema.js';
import { compileSelection, parseFieldSelector } from '../apimachinery/selectors/field-selectors.js';
import { parseLabelSelector } from '../apimachinery/selectors/label-parser.js';
import { LabelSelector } from '../apimachinery/selectors/labels.js';
import { isAddress } from '../apimachinery/validation/addresses.js';
import {
  isDns1123Subdomain,
  isLabelValue,
  isPathSegmentName,
  isQualifiedName,
} from '../apimachinery/validation/names.js';
import { finalizerWarnings, validateFieldManager, validateObjectMeta } from '../apimachinery/validation/object-meta.js';
import { decodeYaml } from '../apimachinery/yaml/yaml.js';
import { bearerTokenOf } from '../authentication/request/bearer-token.js';
import { isWebSocketRequest, WebSocketProtocolAuthenticator } from '../authentication/request/websocket-protocol.js';
import { readToken } from '../authentication/token/jws.js';
import { wantedUser } from '../endpoints/filters/impersonation/impersonation.js';
import { checkPatchRoute, checkRoute, negotiate, negotiateInput } from '../endpoints/negotiation/media.js';
import { decodeBase64 } from '../go/base64.js';
import { parseGoDuration } from '../go/duration.js';
import { unescapePath } from '../go/unescape-path.js';
import { managerFromUserAgent } from '../managedfields/manager-name.js';
import { parseCertificateRequest } from '../pki/certificate-request.js';
import { nextPemBlock } from '../pki/pem.js';
import { uncovered } from '../registry/builtin/rbac/covers.js';
import { keyPairProblem } from '../registry/builtin/core/secrets/tls-warnings.js';
import { caBundleFault } from '../registry/apiextensions/customresourcedefinition/validation/ca-bundle.js';
import { dedupOwnerReferences } from '../registry/generic/system-fields.js';
import { parseQuery } from '../request/query.js';
import { newRequestInfo } from '../request/request-info-factory.js';
import { parseJsonPath } from '../schema/columns/json-path-parser.js';
import { isEmailAddress } from '../schema/formats/email.js';
import { formatCheckFor } from '../schema/formats/formats.js';
import { isRequestUri } from '../schema/formats/request-uri.js';
import { toFieldsV1, readFieldsV1 } from '../structured-merge-diff/fieldpath/serialize.js';
import { urlOf } from './http/plain-requests.js';
import { wellFormed } from '../util/text/utf8.js';
import { trimSpace } from '../util/text/trim-space.js';

/** The size of an input, in characters or items: a quadratic with one nanosecond for each step takes 16 seconds at twice the size. */
const SIZE = 64 * 1024;
/** What twice the size may take, in milliseconds of CPU: many times what the slowest of these takes. */
const MOST_MILLIS = 1500;
/** Less than this needs no comparison. */
const SOME_MILLIS = 60;

/** Returns the CPU time of a call in milliseconds. Errors are answers too. */
function cpuMillis(run: () => unknown): number {
  const before = process.cpuUsage();
  try {
    run();
  } catch (error) {
    if (!(error instanceof Error)) throw error;
  }
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1000;
}

/**
 * Returns a problem unless the work at twice the size is at most some three times that at the size; the best of several runs counts,
 * because collections of garbage and the compiler add tens of milliseconds.
 */
function nonlinear(make: (size: number) => () => unknown, size = SIZE): string | undefined {
  const small = make(size);
  const large = make(2 * size);
  let shown = '';
  for (let attempt = 0; attempt < 5; attempt++) {
    const twice = cpuMillis(large);
    if (twice <= SOME_MILLIS) return undefined;
    const once = cpuMillis(small);
    shown = `${Math.round(once)} ms, and ${Math.round(twice)} ms for twice as much`;
    // One run is enough to see a quadratic; more are for machines that are busy.
    if (twice > 4 * MOST_MILLIS) return shown;
    if (twice <= MOST_MILLIS && twice <= 3 * once + SOME_MILLIS) return undefined;
  }
  return shown;
}

/** Texts that are hostile to one parser or another. Every text parser reads all of them. */
const TEXTS: readonly (readonly [string, (size: number) => string])[] = [
  ['letters', (n) => 'a'.repeat(n)],
  ['digits', (n) => '1'.repeat(n)],
  ['digits, then a letter', (n) => `${'1'.repeat(n)}x!`],
  ['spaces within', (n) => `a${' '.repeat(n)}b`],
  ['spaces after parts', (n) => `a${';a=b'.repeat(n / 8)}${' '.repeat(n / 2)}`],
  ['tabs within', (n) => `a${'\t'.repeat(n)}b`],
  ['line ends', (n) => '\n'.repeat(n)],
  ['an object of line ends', (n) => `{${'\n'.repeat(n)}`],
  ['an object with spaces before its colons', (n) => `{"a"${' '.repeat(n)}: 1}`],
  ['commas', (n) => ','.repeat(n)],
  ['commas and spaces', (n) => ', '.repeat(n / 2)],
  ['commas and letters', (n) => 'a,'.repeat(n / 2)],
  ['semicolons', (n) => `a/b${';'.repeat(n)}`],
  ['parameters', (n) => `application/json${';a=b'.repeat(n / 4)}`],
  ['slashes', (n) => `/${'/'.repeat(n)}a`],
  ['segments', (n) => '/a'.repeat(n / 2)],
  ['stars within', (n) => `${'*'.repeat(n)}a*`],
  ['dots', (n) => '.'.repeat(n)],
  ['labels', (n) => 'a.'.repeat(n / 2)],
  ['colons', (n) => ':'.repeat(n)],
  ['equal signs', (n) => '='.repeat(n)],
  ['requirements', (n) => Array.from({ length: n / 8 }, (_, i) => `k${i}=v`).join(',')],
  ['backslashes', (n) => '\\'.repeat(n)],
  ['escaped quotes', (n) => `"${'\\"'.repeat(n / 2)}`],
  ['quotes', (n) => '"'.repeat(n)],
  ['percent signs', (n) => '%ff'.repeat(n / 3)],
  ['ampersands', (n) => '&'.repeat(n)],
  ['parameters of a query', (n) => Array.from({ length: n / 8 }, (_, i) => `k${i}=v`).join('&')],
  ['brackets', (n) => '['.repeat(n)],
  ['braces', (n) => '{'.repeat(n)],
  ['braces of a path', (n) => `{${'[?(@.a==1)]'.repeat(n / 11)}}`],
  ['indices', (n) => `{.a[${'0, '.repeat(n / 3)}0]}`],
  ['spaces in indices', (n) => `{.a[0,${' '.repeat(n)}x]}`],
  ['names of classes', (n) => '\\p{'.repeat(n / 3)],
  ['parentheses', (n) => '('.repeat(n)],
  ['comments', (n) => `${'('.repeat(n / 2)}${')'.repeat(n / 2)}a@b.c`],
  ['encoded words', (n) => `${'=?utf-8?q?a?= '.repeat(n / 14)}<a@b.c>`],
  ['at signs', (n) => '@'.repeat(n)],
  ['dashes', (n) => '-'.repeat(n)],
  ['first lines of PEM', (n) => '-----BEGIN CERTIFICATE-----\n'.repeat(n / 28)],
  ['first lines of PEM and one last', (n) => `${'-----BEGIN A-----\n'.repeat(n / 18)}-----END A-----${' '.repeat(n)}`],
  ['last lines of PEM', (n) => `-----BEGIN A-----\n${'-----END B-----\n'.repeat(n / 16)}`],
  ['seconds', (n) => '1s'.repeat(n / 2)],
  ['amounts', (n) => '1 '.repeat(n / 2)],
  ['zeros', (n) => `1.${'0'.repeat(n)}1`],
  ['surrogates', (n) => '\ud800'.repeat(n)],
  ['wide letters', (n) => 'ä'.repeat(n)],
  ['JSON with duplicates', (n) => `{${'"a":1,'.repeat(n / 6)}"a":1}`],
  ['JSON with keys', (n) => `{${Array.from({ length: n / 12 }, (_, i) => `"k${i}":1.0`).join(',')}}`],
  ['JSON with floats', (n) => `[${'1.0,'.repeat(n / 4)}1]`],
  ['a long number', (n) => `{"a":${'1'.repeat(n)}}`],
  ['a long float', (n) => `{"a":1.${'1'.repeat(n)}e1}`],
  [
    'nested JSON',
    (n) => `${'{"a":'.repeat(Math.min(n / 10, 4000))}1${'}'.repeat(Math.min(n / 10, 4000))}${' '.repeat(n)}`,
  ],
  ['a token', (n) => `${'a'.repeat(n)}.${'a'.repeat(n)}.${'a'.repeat(n)}`],
  ['lists of YAML', (n) => '- '.repeat(Math.min(n / 2, 9000))],
  ['flow collections of YAML', (n) => `a: ${'['.repeat(Math.min(n / 2, 9000))}`],
  ['keys of YAML', (n) => Array.from({ length: n / 8 }, (_, i) => `k${i}: v\n`).join('')],
  ['tags of YAML', (n) => Array.from({ length: n / 16 }, (_, i) => `k${i}: !!str v\n`).join('')],
  ['anchors of YAML', (n) => Array.from({ length: n / 16 }, (_, i) => `k${i}: &a${i} v\n`).join('')],
  ['aliases of YAML', (n) => `a: &a [1,2,3]\nb: [${'*a,'.repeat(n / 3)}]`],
  [
    'merge keys of YAML',
    (n) => `a: &a {x: 1}\n${Array.from({ length: n / 16 }, (_, i) => `k${i}: {<<: *a}\n`).join('')}`,
  ],
  ['one key with many merges', (n) => `a: &a {x: 1}\nb: {<<: [${'*a,'.repeat(n / 3)}]}`],
  ['quoted scalars of YAML', (n) => `a: "${'\\n '.repeat(n / 3)}"`],
  ['folded scalars of YAML', (n) => `a: >\n${' \n'.repeat(n / 2)}  b`],
  ['plain scalars over many lines', (n) => `a: ${'b\n '.repeat(n / 3)}`],
  ['line ends in a plain scalar', (n) => `a: b${'\n'.repeat(n)}  c`],
  ['duplicate keys of YAML', (n) => 'a: 1\n'.repeat(n / 5)],
  ['question marks of YAML', (n) => '? a\n'.repeat(n / 4)],
  ['directives of YAML', (n) => `${'%TAG !a! b\n'.repeat(n / 11)}---\na`],
  ['documents of YAML', (n) => '---\n'.repeat(n / 4)],
];

const headersOf = (headers: Record<string, string>): AuthenticationRequest =>
  ({ headers, rawHeaders: Object.entries(headers).flat() }) as unknown as AuthenticationRequest;
const offer = { noProtobuf: false, cbor: true, transforms: true };
const noTokens = { authenticateToken: () => Promise.resolve(undefined) };
const FORMATS = [
  ...['bsonobjectid', 'uri', 'email', 'hostname', 'ipv4', 'ipv6', 'cidr', 'mac', 'uuid', 'uuid3', 'uuid4', 'uuid5'],
  ...['isbn', 'isbn10', 'isbn13', 'creditcard', 'ssn', 'hexcolor', 'rgbcolor', 'byte', 'password', 'date', 'duration'],
  ...['datetime', 'date-time', 'k8s-short-name', 'k8s-long-name'],
];

const PARSERS: readonly (readonly [string, (text: string) => unknown])[] = [
  ['Connection', (text) => isWebSocketRequest(headersOf({ upgrade: 'websocket', connection: text }))],
  [
    'Sec-WebSocket-Protocol',
    (text) =>
      new WebSocketProtocolAuthenticator(noTokens).authenticateRequest(
        headersOf({ upgrade: 'websocket', connection: 'upgrade', 'sec-websocket-protocol': text }),
      ),
  ],
  ['Authorization', (text) => bearerTokenOf(`Bearer ${text}`)],
  ['a JWT', readToken],
  ['Accept', (text) => negotiate(text, offer, { userAgent: '' })],
  ['Accept of a route', (text) => checkRoute(text, 'list', true)],
  ['Content-Type', (text) => negotiateInput(text, offer)],
  ['parameters of Content-Type', (text) => negotiateInput(`application/json;${text}`, offer)],
  ['Content-Type of a patch', (text) => checkPatchRoute(text, ['application/json-patch+json'])],
  ['User-Agent', managerFromUserAgent],
  ['fieldManager', (text) => validateFieldManager(text, 'fieldManager')],
  ['impersonated user', (text) => wantedUser(['Impersonate-User', text, 'Impersonate-Extra-a', text])],
  ['impersonated key', (text) => wantedUser([`Impersonate-Extra-${text}`, 'a'])],
  ['a request target', (text) => urlOf('GET', `http:${text}`)],
  ['a path', (text) => newRequestInfo('GET', `/api/v1/${text}`, '')],
  ['an escaped path', unescapePath],
  ['a query', (text) => parseQuery(text)],
  ['the query of a list', (text) => newRequestInfo('GET', '/api/v1/pods', text)],
  [
    'the name in a list',
    (text) =>
      newRequestInfo('GET', '/api/v1/pods', `fieldSelector=metadata.name%3D${encodeURIComponent(wellFormed(text))}`),
  ],
  ['labelSelector', (text) => parseLabelSelector(text.slice(0, 2 * SIZE))],
  ['fieldSelector', (text) => parseFieldSelector(text.slice(0, 2 * SIZE))],
  ['JSON', parseJson],
  ['plain JSON', parsePlainJson],
  ['JSON for typed decoders', (text) => decodeDetailed(text, { strict: true, merges: true })],
  ['bytes of JSON', (text) => decodeDetailed(Buffer.from(text, 'latin1'), { strict: true })],
  ['YAML', (text) => decodeYaml(text, true)],
  ['CBOR', (text) => new CborReader(Buffer.from(text)).read()],
  ['Protobuf', (text) => loadProtobufCodec().decode(Buffer.concat([Buffer.from('k8s\0'), Buffer.from(text)]))],
  ['an envelope of Protobuf', (text) => readEnvelope(Buffer.concat([Buffer.from('k8s\0'), Buffer.from(text)]))],
  ['a JSON patch', (text) => decodeJsonPatch(text, true)],
  ['a path of a JSON patch', (text) => applyJsonPatch({ a: {} }, [{ op: 'add', path: text, value: 1 }])],
  ['a merge patch', (text) => decodeMergePatch(text, true)],
  ['a quantity', (text) => Quantity.parse(text)],
  ['a Go duration', parseGoDuration],
  ['a time', canonicalTime],
  ['base64', decodeBase64],
  ['a JSONPath', parseJsonPath],
  ['a JSONPath in braces', (text) => parseJsonPath(`{${text}}`)],
  ['a label key', isQualifiedName],
  ['a label value', isLabelValue],
  ['a name', isDns1123Subdomain],
  ['a path segment', isPathSegmentName],
  ['an address', isAddress],
  ['an e-mail address', isEmailAddress],
  ['a URI', isRequestUri],
  ['white space', trimSpace],
  ['PEM', (text) => nextPemBlock(text)],
  ['a certificate request', parseCertificateRequest],
  ['a pair of keys', (text) => keyPairProblem(text, text)],
  ['a bundle of CAs', (text) => caBundleFault(Buffer.from(text).toString('base64'))],
  [
    'fields of a manager',
    (text) => toFieldsV1(readFieldsV1({ [`f:${text}`]: {}, [`k:${text}`]: {}, [`v:${text}`]: {} }).set),
  ],
  ...FORMATS.map((format) => [`the format ${format}`, (text: string) => formatCheckFor(format)?.(text)] as const),
];

test.each(PARSERS)('%s', (_name, parse) => {
  const slow: string[] = [];
  for (const [what, make] of TEXTS) {
    const problem = nonlinear((size) => {
      const text = make(size);
      return () => parse(text);
    });
    if (problem !== undefined) slow.push(`${what}: ${problem}`);
  }
  expect(slow).toEqual([]);
});

const podType = builtinSchema({ group: '', version: 'v1', kind: 'Pod' })?.type;
if (podType === undefined) throw new Error('the type of pods is missing');
const names = (count: number, prefix = 'n'): string[] => Array.from({ length: count }, (_, i) => `${prefix}${i}`);
const owners = (count: number, rest: (i: number) => JsonObject): JsonObject[] =>
  Array.from({ length: count }, (_, i) => ({ apiVersion: 'v1', kind: 'A', name: `n${i}`, uid: 'u', ...rest(i) }));
const strategic = (object: JsonObject, patch: JsonObject): (() => unknown) => {
  return () => applyStrategicMergePatch(object, structuredClone(patch), podType);
};
const containers = (count: number, prefix?: string): JsonValue => names(count, prefix).map((name) => ({ name }));
const rule = { apiGroups: [''], resources: ['pods'], verbs: ['get'], resourceNames: [], nonResourceURLs: [] };

const STRUCTURES: readonly (readonly [string, (size: number) => () => unknown])[] = [
  [
    'a selector without an exact label',
    (n) => {
      const text = names(n / 2)
        .join(',')
        .slice(0, 120_000);
      return () => compileSelection(parseLabelSelector(text), parseFieldSelector(''));
    },
  ],
  [
    'many requirements',
    (n) => {
      const selector = LabelSelector.of(names(n).map((key) => ({ key, operator: 'exists', values: [] })));
      return () => selector.exactMatch();
    },
  ],
  [
    'owner references',
    (n) => {
      const metadata = { ownerReferences: owners(n, () => ({})) };
      return () => dedupOwnerReferences({ metadata }, () => undefined, { afterAdmission: false });
    },
  ],
  [
    'owner references that are equal',
    (n) => () =>
      dedupOwnerReferences({ metadata: { ownerReferences: owners(n, () => ({ name: 'a' })) } }, () => undefined, {
        afterAdmission: true,
      }),
  ],
  [
    'controllers',
    (n) => {
      const ownerReferences = owners(n, () => ({ controller: true }));
      return () => validateObjectMeta({ name: 'a', namespace: 'b', ownerReferences }, 'Namespaced', () => []);
    },
  ],
  ['finalizers', (n) => () => finalizerWarnings(names(n), names(n, 'm'))],
  [
    'a strategic patch of a list',
    (n) => strategic({ spec: { containers: containers(n) } }, { spec: { containers: containers(n) } }),
  ],
  [
    'one that adds to a list',
    (n) => strategic({ spec: { containers: containers(n) } }, { spec: { containers: containers(n, 'm') } }),
  ],
  [
    'one that deletes from a list',
    (n) =>
      strategic(
        { spec: { containers: containers(n) } },
        { spec: { containers: names(n).map((name) => ({ name, $patch: 'delete' })) } },
      ),
  ],
  [
    'one that orders a list by nothing',
    (n) =>
      strategic(
        { spec: { containers: containers(n) } },
        { spec: { containers: containers(n, 'm'), '$setElementOrder/containers': [] } },
      ),
  ],
  [
    'one with finalizers',
    (n) => strategic({ metadata: { finalizers: names(n) } }, { metadata: { finalizers: names(n, 'm') } }),
  ],
  [
    'one with equal finalizers',
    (n) => strategic({ metadata: { finalizers: names(n) } }, { metadata: { finalizers: names(n) } }),
  ],
  [
    'a merge patch of many keys',
    (n) => {
      const object = Object.fromEntries(names(n).map((name) => [name, 1]));
      return () => applyMergePatch(object, { ...object });
    },
  ],
  [
    'a JSON patch of many keys',
    (n) => {
      const operations = names(n / 4).map((name) => ({ op: 'add', path: `/${name}`, value: 1 }));
      return () => applyJsonPatch({}, operations);
    },
  ],
  [
    'permissions that a rule does not cover',
    (n) => () => uncovered([rule], [{ ...rule, apiGroups: names(n), resources: names(n), verbs: names(n) }]),
  ],
  [
    'permissions that a rule covers',
    (n) => () =>
      uncovered(
        [{ ...rule, apiGroups: ['*'], resources: ['*'], verbs: ['*'] }],
        [{ ...rule, apiGroups: names(n), resources: names(n), verbs: names(n) }],
      ),
  ],
  [
    'fields of a manager',
    (n) => {
      const fields = Object.fromEntries(names(n).map((name) => [`k:{"name":"${name}"}`, { '.': {} }]));
      return () => toFieldsV1(readFieldsV1(fields).set);
    },
  ],
];

test.each(STRUCTURES)('%s', (_name, make) => {
  expect(nonlinear(make, 20_000)).toBeUndefined();
});
