import { ApiError, newNotAcceptable, newUnsupportedMediaType } from '../../apimachinery/meta/errors.js';
import { type AcceptClause, acceptsOneOf, maxClauses, parseAccept } from './accept.js';
import { watchCache } from '../../util/caches/cache-metrics.js';
import { LruCache } from '../../util/caches/lru-cache.js';
import { trimBoth } from '../../util/text/trim.js';

export type Encoding = 'json' | 'yaml' | 'protobuf' | 'cbor';

/** The transformation that a client requests for a response. */
type Transform = 'Table' | 'PartialObjectMetadata' | 'PartialObjectMetadataList';

/** The representations that an endpoint offers. */
export interface Offer {
  /** True for custom resources and Annex's own kinds: Protobuf only if the response is transformed to PartialObjectMetadata. */
  readonly noProtobuf: boolean;
  /** The feature gate CBORServingAndStorage. */
  readonly cbor: boolean;
  /** True if clients may request Table and PartialObjectMetadata. */
  readonly transforms: boolean;
  /** True if the type has no columns, so that clients cannot request a Table. */
  readonly noTables?: boolean | undefined;
  /** True if the response is a stream of watch events. */
  readonly watch?: boolean | undefined;
}

/** The sources of `pretty` besides the media type. */
export interface PrettyHints {
  /** The `pretty` query parameter; undefined or empty if absent. */
  readonly pretty?: string | undefined;
  readonly userAgent: string;
}

export interface NegotiatedMedia {
  readonly encoding: Encoding;
  /** The Content-Type of the response. */
  readonly mediaType: string;
  readonly as: Transform | undefined;
  readonly asVersion: 'v1' | 'v1beta1' | undefined;
  /** Always false for encodings other than JSON. */
  readonly pretty: boolean;
  readonly streaming: boolean;
  /** Set if a stream is requested in an encoding that has none. The watch throws it once its options are validated. */
  readonly streamError?: ApiError;
}

const jsonType = 'application/json';
const yamlType = 'application/yaml';
const protobufType = 'application/vnd.kubernetes.protobuf';
const cborType = 'application/cbor';

interface Serializer {
  readonly encoding: Encoding;
  readonly mediaType: string;
  readonly subtype: string;
  readonly streamType: string | undefined;
  /** The name of the type in the error that rejects a watch. */
  readonly streamName: string | undefined;
}

const serializers: readonly Serializer[] = [
  {
    encoding: 'json',
    mediaType: jsonType,
    subtype: 'json',
    streamType: jsonType,
    streamName: `${jsonType};stream=watch`,
  },
  { encoding: 'yaml', mediaType: yamlType, subtype: 'yaml', streamType: undefined, streamName: undefined },
  {
    encoding: 'protobuf',
    mediaType: protobufType,
    subtype: 'vnd.kubernetes.protobuf',
    streamType: `${protobufType};stream=watch`,
    streamName: `${protobufType};stream=watch`,
  },
];

const withCbor: readonly Serializer[] = [
  ...serializers,
  {
    encoding: 'cbor',
    mediaType: cborType,
    subtype: 'cbor',
    streamType: 'application/cbor-seq',
    streamName: 'application/cbor-seq',
  },
];

const offered = (cbor: boolean): readonly Serializer[] => (cbor ? withCbor : serializers);

/** Returns the media types of requests and responses, as errors list them. */
function acceptedMediaTypes(cbor: boolean): string[] {
  return offered(cbor).map((serializer) => serializer.mediaType);
}

function streamTypes(cbor: boolean): string[] {
  return offered(cbor).flatMap((serializer) => (serializer.streamName === undefined ? [] : [serializer.streamName]));
}

/** Builds an error of the router, which unlike one of a handler has empty details. */
export const newRouterError = (code: number, reason: string, message: string): ApiError =>
  new ApiError(code, reason, message, {});

/**
 * Negotiates the representation of a response. Throws kube-apiserver's 406 if none is acceptable. An empty header selects the
 * first of the server's types.
 */
export function negotiate(accept: string | undefined, offer: Offer, hints: PrettyHints): NegotiatedMedia {
  const header = accept ?? '';
  const chosen = choose(header, offer);
  if (chosen === undefined) throw newNotAcceptable(acceptedMediaTypes(offer.cbor));
  const streaming = offer.watch === true;
  const mediaType = streaming ? chosen.serializer.streamType : chosen.serializer.mediaType;
  const { encoding } = chosen.serializer;
  return {
    encoding,
    mediaType: mediaType ?? chosen.serializer.mediaType,
    ...(mediaType === undefined ? { streamError: newNotAcceptable(streamTypes(offer.cbor)) } : {}),
    as: chosen.as,
    asVersion: chosen.asVersion,
    pretty: encoding === 'json' && !streaming && (chosen.pretty || wantsPretty(hints)),
    streaming,
  };
}

/** Negotiates the representation of an error, without transformation. Returns undefined if the client accepts none. */
export function negotiateStatus(
  accept: string | undefined,
  cbor: boolean,
  hints: PrettyHints,
): NegotiatedMedia | undefined {
  const chosen = choose(accept ?? '', { noProtobuf: false, cbor, transforms: false });
  if (chosen === undefined) return undefined;
  const { encoding, mediaType } = chosen.serializer;
  return {
    encoding,
    mediaType,
    as: undefined,
    asVersion: undefined,
    pretty: encoding === 'json' && (chosen.pretty || wantsPretty(hints)),
    streaming: false,
  };
}

/**
 * Checks Accept as the routes of built-in endpoints do: it must name a type on a list of their own, that of objects or that of
 * lists and watches. Throws the router's 406.
 */
export function checkRoute(accept: string | undefined, route: 'object' | 'list', cbor: boolean): void {
  checkProduced(
    accept,
    route === 'object' ? acceptedMediaTypes(cbor) : [...acceptedMediaTypes(cbor), ...streamTypes(cbor)],
  );
}

/** Throws the router's 406 if the client accepts none of the types that a path produces. */
export function checkProduced(accept: string | undefined, produced: readonly string[]): void {
  const header = accept === undefined || accept === '' ? '*/*' : accept;
  if (acceptsOneOf(header, produced)) return;
  const message = `406: Not Acceptable\n\nAvailable representations: ${produced.join(', ')}`;
  throw newRouterError(406, 'NotAcceptable', message);
}

interface Chosen {
  readonly serializer: Serializer;
  readonly pretty: boolean;
  readonly as: Transform | undefined;
  readonly asVersion: 'v1' | 'v1beta1' | undefined;
}

/** The results for the headers that nearly every request has, to avoid parsing them again. */
const choiceCache = new LruCache<string, Chosen | null>({
  capacity: 512 << 10,
  weigh: (key) => 256 + 2 * key.length,
});
watchCache('media_types', choiceCache);
const maxRememberedLength = 512;

function choose(header: string, offer: Offer): Chosen | undefined {
  if (header.length > maxRememberedLength) return chooseUncached(header, offer);
  const key = `${offer.noProtobuf ? 'c' : 'b'}${offer.cbor ? '1' : '0'}${offer.transforms ? '1' : '0'}${offer.noTables === true ? 'n' : 't'}${header}`;
  const known = choiceCache.get(key);
  if (known !== undefined) return known ?? undefined;
  const chosen = chooseUncached(header, offer);
  choiceCache.set(key, chosen ?? null);
  return chosen;
}

function chooseUncached(header: string, offer: Offer): Chosen | undefined {
  const all = offered(offer.cbor);
  if (header === '') return { serializer: all[0] as Serializer, pretty: false, as: undefined, asVersion: undefined };
  for (const clause of parseAccept(header)) {
    for (const serializer of all) {
      if (!matches(clause, serializer)) continue;
      const chosen = accept(clause, serializer, offer);
      if (chosen !== undefined) return chosen;
    }
  }
  return undefined;
}

function matches(clause: AcceptClause, serializer: Serializer): boolean {
  if (clause.type === 'application') return clause.subtype === serializer.subtype || clause.subtype === '*';
  return clause.type === '*' && clause.subtype === '*';
}

function accept(clause: AcceptClause, serializer: Serializer, offer: Offer): Chosen | undefined {
  const { params } = clause;
  const stream = params.get('stream') ?? '';
  if (stream !== '' && (stream !== 'watch' || serializer.streamType === undefined)) return undefined;
  if ((params.get('sv') ?? '') !== '') return undefined;
  const pretty = params.get('pretty') === '1';
  const as = params.get('as');
  if (as === undefined && !params.has('g') && !params.has('v')) {
    if (offer.noProtobuf && serializer.encoding === 'protobuf') return undefined;
    return { serializer, pretty, as: undefined, asVersion: undefined };
  }
  const version = params.get('v');
  if (!offer.transforms || params.get('g') !== 'meta.k8s.io' || (version !== 'v1' && version !== 'v1beta1'))
    return undefined;
  if (as === 'Table') {
    if (offer.noTables === true) return undefined;
    if (serializer.encoding !== 'json' && serializer.encoding !== 'yaml') return undefined;
  } else if (as !== 'PartialObjectMetadata' && as !== 'PartialObjectMetadataList') {
    return undefined;
  }
  return { serializer, pretty, as, asVersion: version };
}

const truths: ReadonlySet<string> = new Set(['1', 't', 'T', 'TRUE', 'true', 'True']);

/** Reports whether to indent JSON: by the query, else for the clients that people read with, which are curl, wget and browsers. */
export function wantsPretty(hints: PrettyHints): boolean {
  if (hints.pretty !== undefined && hints.pretty !== '') return truths.has(hints.pretty);
  const agent = hints.userAgent;
  return agent.startsWith('curl') || agent.startsWith('Wget') || agent.startsWith('Mozilla/5.0');
}

/** Negotiates the encoding of a body. No Content-Type means JSON. Protobuf that is not offered is rejected with the same list of types. */
export function negotiateInput(contentType: string | undefined, offer: Pick<Offer, 'noProtobuf' | 'cbor'>): Encoding {
  const mediaType = contentType === undefined || contentType === '' ? jsonType : parseMediaType(contentType);
  for (const serializer of offered(offer.cbor)) {
    if (serializer.mediaType !== mediaType) continue;
    if (offer.noProtobuf && serializer.encoding === 'protobuf') break;
    return serializer.encoding;
  }
  throw newUnsupportedMediaType(acceptedMediaTypes(offer.cbor));
}

/** Checks the Content-Type of a PATCH as the routes of built-in endpoints do. Throws the router's 415. */
export function checkPatchRoute(contentType: string | undefined, accepted: readonly string[]): void {
  if (!namesOneConsumed(contentType ?? '', accepted))
    throw newRouterError(415, 'UnsupportedMediaType', '415: Unsupported Media Type');
}

/** Returns the media type of a PATCH, which is one of `accepted`, a list in the server's order. */
export function negotiatePatch(contentType: string | undefined, accepted: readonly string[]): string {
  const header = contentType ?? '';
  const semicolon = header.indexOf(';');
  const mediaType = semicolon > 0 ? header.slice(0, semicolon) : header;
  if (!accepted.includes(mediaType)) throw newUnsupportedMediaType(accepted);
  return mediaType;
}

function namesOneConsumed(header: string, accepted: readonly string[]): boolean {
  return header.split(',', maxClauses).some((part) => accepted.includes(trimBoth(part.split(';', 1)[0] ?? '', ' ')));
}

const token = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/;
const parameter = /\s*([!#$%&'*+\-.^_`|~0-9A-Za-z]+)\s*=\s*([!#$%&'*+\-.^_`|~0-9A-Za-z]+|"(?:[^"\\]|\\.)*")\s*(?:;|$)/y;

/**
 * Returns the type in lower case without its parameters; undefined if the header is malformed, or gives a parameter two values.
 * One trailing semicolon is accepted.
 */
function parseMediaType(header: string): string | undefined {
  const text = header.trimEnd();
  const semicolon = text.indexOf(';');
  const base = (semicolon === -1 ? text : text.slice(0, semicolon)).trim().toLowerCase();
  const parts = base.split('/', 3);
  if (parts.length > 2 || !parts.every((part) => token.test(part))) return undefined;
  const given = new Map<string, string>();
  parameter.lastIndex = semicolon === -1 ? text.length : semicolon + 1;
  while (parameter.lastIndex < text.length) {
    const match = parameter.exec(text);
    if (match === null) return undefined;
    const [, name = '', value = ''] = match;
    if ((given.get(name.toLowerCase()) ?? value) !== value) return undefined;
    given.set(name.toLowerCase(), value);
  }
  return base;
}

/**
 * Negotiates a response of a certain type, given in the parameters `g`, `v` and `as`. The first alternative that requests it
 * counts, even if plain ones precede it. Returns undefined if none does.
 */
export function negotiateConversion(
  header: string | undefined,
  wanted: { readonly group: string; readonly version: string; readonly kind: string },
): { readonly encoding: Encoding; readonly mediaType: string; readonly pretty: boolean } | undefined {
  if (header === undefined || header === '') return undefined;
  for (const clause of parseAccept(header)) {
    const { params } = clause;
    const fits =
      params.get('g') === wanted.group && params.get('v') === wanted.version && params.get('as') === wanted.kind;
    if (!fits || (params.get('stream') ?? '') !== '' || (params.get('sv') ?? '') !== '') continue;
    // It is not offered in CBOR.
    const serializer = serializers.find((one) => matches(clause, one));
    if (serializer === undefined) continue;
    const { encoding } = serializer;
    return {
      encoding,
      mediaType: `${serializer.mediaType};g=${wanted.group};v=${wanted.version};as=${wanted.kind}`,
      pretty: params.get('pretty') === '1',
    };
  }
  return undefined;
}

/** The structured form of a text page, which clients may request as an object. */
export interface StructuredMedia {
  readonly encoding: Exclude<Encoding, 'protobuf'>;
  readonly mediaType: string;
  readonly version: string;
  readonly pretty: boolean;
}

/**
 * Negotiates the form of a text page: `text`, or an object of one of the versions of its kind, which must be named. Throws a 406
 * if neither is acceptable.
 */
export function negotiatePage(
  header: string | undefined,
  cbor: boolean,
  kind: { readonly group: string; readonly kind: string; readonly versions: readonly string[] },
): StructuredMedia | 'text' {
  if (header === undefined || header.trim() === '') return 'text';
  const forms = offered(cbor).filter(({ encoding }) => encoding !== 'protobuf');
  for (const clause of parseAccept(header)) {
    const { params } = clause;
    if ((params.get('stream') ?? '') !== '' || (params.get('sv') ?? '') !== '') continue;
    const version = params.get('v');
    if (version === undefined && !params.has('as') && !params.has('g')) {
      if (isText(clause)) return 'text';
      continue;
    }
    if (params.get('g') !== kind.group || params.get('as') !== kind.kind) continue;
    if (version === undefined || !kind.versions.includes(version)) continue;
    const form = forms.find((one) => matches(clause, one));
    if (form === undefined || form.encoding === 'protobuf') continue;
    const mediaType = `${form.mediaType};g=${kind.group};v=${version};as=${kind.kind}`;
    return { encoding: form.encoding, mediaType, version, pretty: params.get('pretty') === '1' };
  }
  const [json = '', yaml = '', ...more] = forms.map((form) => form.mediaType);
  throw newNotAcceptable([json, yaml, 'text/plain', ...more]);
}

const isText = ({ type, subtype }: AcceptClause): boolean =>
  type === 'text' ? subtype === 'plain' || subtype === '*' : type === '*' && subtype === '*';
