import { createHash } from 'node:crypto';
import { gzip as gzipCallback } from 'node:zlib';
import { promisify } from 'node:util';
import { type JsonObject, stringifyJson } from '../../apimachinery/json/json.js';
import type { RequestContext } from '../../request/context.js';
import { stepByStep, yieldNow } from '../../scheduling/slicer.js';
import { HASH_STEP_BYTES } from '../../scheduling/thresholds.js';
import type { Clock } from '../../util/clock.js';
import type { HttpRequest, HttpResponse } from '../http.js';
import { parseAccept } from '../negotiation/accept.js';
import { encodeDocument } from './gnostic.js';
import { encodeDocumentV3 } from './gnostic-v3.js';
import {
  type Description,
  describe,
  isLargeGroupVersion,
  buildPartsInSteps,
  type PartsV2,
  readParts,
} from './parts.js';
import type { RootDocument } from './root-documents.js';
import { maxClauses } from '../negotiation/accept.js';
import { builtInInfo } from './spec-v3.js';
import { type OpenApiGroupVersion, type OpenApiSource, pathOf, type PublishedComponents } from './source.js';
import type { MaybePromise } from '../../util/maybe-promise.js';

const gzip = promisify(gzipCallback);

type Format = 'json' | 'protobuf';
type Version = 'v2' | 'v3';

/** Returns the subtypes that a version of OpenAPI is offered in, in the server's order of preference, and the format of each. */
const offered = (version: Version): readonly (readonly [subtype: string, format: Format])[] => [
  ['json', 'json'],
  [`com.github.proto-openapi.spec.${version}@v1.0+protobuf`, 'protobuf'],
  [`com.github.proto-openapi.spec.${version}.v1.0+protobuf`, 'protobuf'],
];
const OFFERED = { v2: offered('v2'), v3: offered('v3') };

const contentType = (version: Version, format: Format): string =>
  format === 'json' ? 'application/json' : `application/com.github.proto-openapi.spec.${version}.v1.0+protobuf`;

/** A document's bytes with its HTTP cache validators. */
interface Document {
  readonly bytes: Uint8Array;
  readonly etag: string;
  readonly modified: number;
  gzipped?: Uint8Array;
  /** The document in Protobuf, encoded at the first request for it. */
  protobuf?: Uint8Array;
}

export interface OpenApiOptions {
  readonly source: OpenApiSource;
  readonly published: PublishedComponents;
  readonly clock: Clock;
  /** Builds a description of a group version on a worker thread; undefined if it must be built on this thread. */
  readonly offload?: (what: Description, gv: OpenApiGroupVersion) => Promise<Uint8Array> | undefined;
  /** The documents of non-resource paths. */
  readonly roots: readonly RootDocument[];
  /**
   * True to redirect requests for an outdated document to the current one. False in an aggregated API server, because the
   * aggregator's proxy allows no redirects.
   */
  readonly redirects: boolean;
}

async function hashOf(bytes: Uint8Array): Promise<string> {
  const hash = createHash('sha512');
  for (let at = 0; at < bytes.length; at += HASH_STEP_BYTES) {
    if (at > 0) await yieldNow();
    hash.update(bytes.subarray(at, at + HASH_STEP_BYTES));
  }
  return hash.digest('hex').toUpperCase();
}

/** Serves `/openapi/v2`, `/openapi/v3` and the paths below. Documents are built on request, one group version at a time. */
export class OpenApi {
  private readonly documents = new WeakMap<DocumentSource, MaybePromise<Document>>();
  private readonly parts = new WeakMap<OpenApiGroupVersion, PartsV2>();
  private index: { readonly of: readonly OpenApiGroupVersion[]; readonly document: Document } | undefined;
  private merged:
    { readonly of: readonly OpenApiGroupVersion[]; readonly json: Document; readonly protobuf: Document } | undefined;
  private merging: Promise<{ readonly json: Document; readonly protobuf: Document }> | undefined;

  constructor(private readonly options: OpenApiOptions) {}

  /** A Handler for `/openapi/v2`, `/openapi/v3` and `/openapi/v3/<path>`. */
  readonly handle = async (context: RequestContext, request: HttpRequest, response: HttpResponse): Promise<void> => {
    const { path } = context.info;
    if (path === '/openapi/v2') await this.v2(request, response);
    else if (path === '/openapi/v3') await this.v3Index(request, response);
    else if (path.startsWith('/openapi/v3/')) await this.v3(path.slice('/openapi/v3/'.length), request, response);
    else empty(response, 404);
  };

  /** Returns the v3 document. Requests that arrive while it is being built wait for the same one. */
  private document(gv: DocumentSource): MaybePromise<Document> {
    const known = this.documents.get(gv);
    if (known !== undefined) return known;
    const making = this.makeDocument(gv);
    this.documents.set(gv, making);
    making.then(
      (document) => this.documents.set(gv, document),
      () => this.documents.delete(gv),
    );
    return making;
  }

  private async makeDocument(gv: DocumentSource): Promise<Document> {
    const bytes = await this.describe('v3', gv);
    return { bytes, etag: await hashOf(bytes), modified: this.options.clock.now() };
  }

  private describe(what: 'v3' | 'v3-protobuf', gv: DocumentSource): MaybePromise<Uint8Array> {
    if (isRoot(gv)) return what === 'v3' ? Buffer.from(stringifyJson(gv.document)) : encodeDocumentV3(gv.document);
    const offloaded = isLargeGroupVersion(gv) ? this.options.offload?.(what, gv) : undefined;
    return offloaded ?? describe(what, gv, this.options.published);
  }

  private async v3Index(request: HttpRequest, response: HttpResponse): Promise<void> {
    const of = this.options.source.groupVersions();
    if (this.index === undefined || !sameList(this.index.of, of)) {
      const paths: JsonObject = {};
      for (const gv of byPath([...of, ...this.options.roots])) {
        const fresh = !this.documents.has(gv);
        paths[pathTo(gv)] = { serverRelativeURL: urlOf(pathTo(gv), (await this.document(gv)).etag) };
        if (fresh) await yieldNow();
      }
      const bytes = Buffer.from(stringifyJson({ paths }));
      this.index = { of, document: { bytes, etag: await hashOf(bytes), modified: this.options.clock.now() } };
    }
    const { document } = this.index;
    response.setHeader('Content-Type', 'text/plain; charset=utf-8');
    serve(request, response, document.bytes, document, 'always');
  }

  private async v3(path: string, request: HttpRequest, response: HttpResponse): Promise<void> {
    const isIt = (one: DocumentSource): boolean => pathTo(one) === path;
    const gv = this.options.source.groupVersions().find(isIt) ?? this.options.roots.find(isIt);
    if (gv === undefined) {
      empty(response, 404);
      return;
    }
    response.setHeader('Vary', 'Accept');
    const format = chosen('v3', request);
    if (format === undefined) {
      empty(response, 406);
      return;
    }
    const document = await this.document(gv);
    response.setHeader('Content-Type', contentType('v3', format));
    response.setHeader('ETag', `"${document.etag}"`);
    const url = request.url ?? '';
    const mark = url.indexOf('?');
    const hash = mark === -1 ? '' : (new URLSearchParams(url.slice(mark + 1)).get('hash') ?? '');
    if (this.options.redirects && hash !== '' && hash !== document.etag) {
      response.setHeader('Location', urlOf(path, document.etag));
      empty(response, 301);
      return;
    }
    if (hash === document.etag) {
      const expires = new Date(this.options.clock.now());
      expires.setUTCFullYear(expires.getUTCFullYear() + 1);
      response.setHeader('Cache-Control', 'public, immutable');
      response.setHeader('Expires', expires.toUTCString().replace('GMT', 'UTC'));
    }
    serve(
      request,
      response,
      format === 'json' ? document.bytes : await this.protobufOf(gv, document),
      document,
      'conditional',
    );
  }

  private async protobufOf(gv: DocumentSource, document: Document): Promise<Uint8Array> {
    return (document.protobuf ??= await this.describe('v3-protobuf', gv));
  }

  private async v2(request: HttpRequest, response: HttpResponse): Promise<void> {
    response.setHeader('Vary', ['Accept-Encoding', 'Accept']);
    const format = chosen('v2', request);
    if (format === undefined) {
      empty(response, 406);
      return;
    }
    const document = (await this.merge())[format];
    response.setHeader('Content-Type', contentType('v2', format));
    response.setHeader('ETag', `"${document.etag}"`);
    let { bytes } = document;
    if (acceptsEncoding(request)) {
      response.setHeader('Content-Encoding', 'gzip');
      bytes = document.gzipped ??= await gzip(bytes);
    }
    serve(request, response, bytes, document, 'conditional');
  }

  /** Returns the whole v2 document in both formats. Requests that arrive while it is being built wait for the same one. */
  private merge(): Promise<{ readonly json: Document; readonly protobuf: Document }> {
    const of = this.options.source.groupVersions();
    if (this.merged !== undefined && sameList(this.merged.of, of)) return Promise.resolve(this.merged);
    this.merging ??= this.mergeParts(of).finally(() => {
      this.merging = undefined;
    });
    return this.merging;
  }

  private async mergeParts(
    of: readonly OpenApiGroupVersion[],
  ): Promise<{ readonly json: Document; readonly protobuf: Document }> {
    const paths: string[] = [];
    const encodedPaths: Uint8Array[] = [];
    const definitions = new Map<string, string>();
    const encodedDefinitions = new Map<string, Uint8Array>();
    for (const gv of byPath(of)) {
      const parts = await this.partsOf(gv);
      if (parts.paths !== '') paths.push(parts.paths);
      encodedPaths.push(...parts.encodedPaths);
      for (const [name, text] of parts.definitions) if (!definitions.has(name)) definitions.set(name, text);
      for (const [name, bytes] of parts.encodedDefinitions) {
        if (!encodedDefinitions.has(name)) encodedDefinitions.set(name, bytes);
      }
    }
    const names = [...definitions.keys()].sort();
    const text = `{"swagger":"2.0","info":${JSON.stringify(builtInInfo)},"paths":{${paths.join(',')}},"definitions":{${names
      .map((name) => `${JSON.stringify(name)}:${definitions.get(name) ?? ''}`)
      .join(',')}},${security}}`;
    const json = Buffer.from(text);
    await yieldNow();
    const etag = await hashOf(json);
    const modified = this.options.clock.now();
    const encoded = names.flatMap((name) => encodedDefinitions.get(name) ?? []);
    const protobuf = encodeDocument(builtInInfo, encodedPaths, encoded);
    this.merged = { of, json: { bytes: json, etag, modified }, protobuf: { bytes: protobuf, etag, modified } };
    return this.merged;
  }

  /** Builds the v2 parts of a group version, yielding to the event loop between steps. */
  private async partsOf(gv: OpenApiGroupVersion): Promise<PartsV2> {
    const known = this.parts.get(gv);
    if (known !== undefined) return known;
    const offloaded = isLargeGroupVersion(gv) ? this.options.offload?.('v2', gv) : undefined;
    const parts =
      offloaded === undefined
        ? await stepByStep(buildPartsInSteps(gv, this.options.published))
        : readParts(await offloaded);
    this.parts.set(gv, parts);
    await yieldNow();
    return parts;
  }
}

const security =
  '"securityDefinitions":{"BearerToken":{"description":"Bearer Token authentication","type":"apiKey","name":"authorization","in":"header"}},"security":[{"BearerToken":[]}]';

/** Anything that has a v3 document. */
type DocumentSource = OpenApiGroupVersion | RootDocument;

const isRoot = (one: DocumentSource): one is RootDocument => 'document' in one;

const pathTo = (one: DocumentSource): string => (isRoot(one) ? one.path : pathOf(one));

const byPath = <T extends DocumentSource>(all: readonly T[]): T[] =>
  [...all].sort((a, b) => (pathTo(a) < pathTo(b) ? -1 : 1));

const sameList = (a: readonly OpenApiGroupVersion[], b: readonly OpenApiGroupVersion[]): boolean =>
  a === b || (a.length === b.length && a.every((gv, index) => gv === b[index]));

const urlOf = (path: string, hash: string): string => `/openapi/v3/${path}?hash=${hash}`;

const accepts = (clause: { readonly type: string; readonly subtype: string }, subtype: string): boolean =>
  (clause.type === 'application' || clause.type === '*') && (clause.subtype === subtype || clause.subtype === '*');

function chosen(version: Version, request: HttpRequest): Format | undefined {
  for (const clause of parseAccept(request.headers.accept || '*/*')) {
    for (const [subtype, format] of OFFERED[version]) if (accepts(clause, subtype)) return format;
  }
  return undefined;
}

function acceptsEncoding(request: HttpRequest): boolean {
  const header = request.headers['accept-encoding'];
  const text = Array.isArray(header) ? header.join(',') : (header ?? '');
  return text
    .split(',', maxClauses)
    .some((token) => /^\s*gzip\s*(;|$)/i.test(token) && !/;\s*q=0(\.0*)?\s*$/.test(token));
}

function empty(response: HttpResponse, status: number): void {
  response.setHeader('Content-Length', 0);
  response.writeHead(status);
  response.end();
}

/** Sends the bytes, or a 304 if the client already has them. */
function serve(
  request: HttpRequest,
  response: HttpResponse,
  bytes: Uint8Array,
  document: Document,
  conditional: 'conditional' | 'always',
): void {
  const known = request.headers['if-none-match'];
  const tags = (Array.isArray(known) ? known.join(',') : (known ?? ''))
    .split(',')
    .map((tag) => tag.trim().replace(/^W\//, ''));
  if (conditional === 'conditional' && (tags.includes(`"${document.etag}"`) || tags.includes('*'))) {
    for (const header of ['Content-Type', 'Content-Length', 'Content-Encoding']) response.removeHeader(header);
    response.writeHead(304);
    response.end();
    return;
  }
  response.setHeader('Last-Modified', new Date(document.modified).toUTCString());
  response.setHeader('Content-Length', bytes.length);
  response.writeHead(200);
  if (request.method === 'HEAD') response.end();
  else response.end(bytes);
}
