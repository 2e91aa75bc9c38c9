import { createHash } from 'node:crypto';
import { type ApiError, newGenericNotFound, newPathsNotInstalled } from '../../apimachinery/meta/errors.js';
import { type JsonObject, stringifyJson } from '../../apimachinery/json/json.js';
import type { ApiGroup, ApiGroupVersion } from '../../registry/rest/interfaces.js';
import type { RequestContext } from '../../request/context.js';
import { respondNotFoundText } from '../handlers/respond.js';
import type { HttpRequest, HttpResponse } from '../http.js';
import {
  type NegotiatedMedia,
  negotiate,
  negotiateConversion,
  newRouterError,
  wantsPretty,
  checkRoute,
} from '../negotiation/media.js';
import { sendBytes, type WriterOptions } from '../responsewriters/body.js';
import { encodeTree } from '../responsewriters/encoders.js';
import { prettyParameter, type ResponseTarget, writeStatus } from '../responsewriters/status.js';
import {
  aggregatedType,
  apiGroup,
  apiGroupList,
  apiResourceList,
  apiVersions,
  groupDiscoveryList,
} from './documents.js';
import { trimRight } from '../../util/text/trim.js';

/** The source of the groups that discovery lists. */
export interface DiscoverySource {
  /** Returns the core group (named '') and all others, in the order in which they are listed. */
  groups(): readonly ApiGroup[];
  /** Reports whether `groups` is complete. Until then, lists of groups and of custom resources are withheld. */
  isComplete(): boolean;
  /** Registers `changed`, which is called after every change of `groups`. */
  onChange(changed: () => void): void;
}

export interface DiscoveryOptions extends WriterOptions {
  /** The host and port at which clients reach the server. */
  readonly serverAddress: string;
}

/** The group of APIService. It is not served here, but clients of kube-apiserver look for it and parse the answer. */
const AGGREGATOR_GROUP = 'apiregistration.k8s.io';

type Form = Pick<NegotiatedMedia, 'encoding' | 'mediaType' | 'pretty'>;

interface Call extends ResponseTarget {
  readonly context: RequestContext;
}

interface Document {
  /** The key of its cached encodings. */
  readonly path: string;
  readonly build: () => JsonObject;
  /** True if kube-apiserver's router serves it, which checks the Accept header itself. */
  readonly routed?: boolean;
  readonly cbor?: boolean;
}

/** Serves `/api`, `/apis` and the paths directly below. Documents are built on first use after a change. */
export class Discovery {
  private bytes = new Map<string, Uint8Array>();
  private tags = new Map<string, string>();
  private byName: ReadonlyMap<string, ApiGroup> | undefined;

  constructor(
    private readonly source: DiscoverySource,
    private readonly options: DiscoveryOptions,
  ) {
    source.onChange(() => {
      this.bytes = new Map();
      this.tags = new Map();
      this.byName = undefined;
    });
  }

  private groups(): ReadonlyMap<string, ApiGroup> {
    return (this.byName ??= new Map(this.source.groups().map((group) => [group.name, group])));
  }

  /** A Handler for `/api`, `/api/<version>`, `/apis`, `/apis/<group>` and `/apis/<group>/<version>`. */
  readonly handle = async (context: RequestContext, request: HttpRequest, response: HttpResponse): Promise<void> => {
    const call = { context, request, response };
    const [root = '', ...rest] = trimRight(context.info.path.replace(/^\//, ''), '/').split('/', 4);
    if (root === 'apis' && !this.source.isComplete() && !this.isBuiltIn(rest[0], rest[1])) throw newPathsNotInstalled();
    if (root === 'api') await this.core(rest[0], call);
    else if (rest[0] === undefined && context.info.path.endsWith('//')) respondNotFoundText(response);
    else if (rest[0] === undefined) await this.apis(call);
    else await this.group(rest[0], rest[1], call);
  };

  /** Reports whether a group version is built in, and therefore known from the start. Definitions may add versions and types to any group. */
  private isBuiltIn(group = '', version = ''): boolean {
    const found = this.groups()
      .get(group)
      ?.versions.find((one) => one.version === version);
    return found !== undefined && found.custom !== true;
  }

  private async core(version: string | undefined, call: Call): Promise<void> {
    const core = this.groups().get('');
    if (version !== undefined) {
      const found = core?.versions.find((one) => one.version === version);
      if (core === undefined || found === undefined) await this.fail(newGenericNotFound(), call);
      else await this.resources(core, found, call);
      return;
    }
    if (!(await this.allowsMethod(call))) return;
    const build = (): JsonObject => apiVersions(core, this.options.serverAddress);
    const aggregated = (): JsonObject => groupDiscoveryList(core === undefined ? [] : [core]);
    await this.writeNegotiated({ path: '/api', build, routed: true }, aggregated, call);
  }

  private async apis(call: Call): Promise<void> {
    const named = (): ApiGroup[] => [...this.groups().values()].filter((group) => group.name !== '');
    const build = (): JsonObject => apiGroupList(named());
    const aggregated = (): JsonObject => groupDiscoveryList(named());
    await this.writeNegotiated({ path: '/apis', build }, aggregated, call);
  }

  /** Writes the aggregated document if the client requests it, else the other one. */
  private async writeNegotiated(plain: Document, aggregated: () => JsonObject, call: Call): Promise<void> {
    const { context, request, response } = call;
    const asked = negotiateConversion(request.headers.accept, aggregatedType);
    if (asked === undefined) {
      await this.write(plain, call);
      return;
    }
    const tag = this.etag(plain.path, aggregated);
    response.setHeader('Vary', 'Accept');
    response.setHeader('Cache-Control', 'public');
    response.setHeader('ETag', tag);
    if (request.headers['if-none-match'] === tag) {
      response.writeHead(304);
      response.end();
      return;
    }
    const pretty = asked.encoding === 'json' && (asked.pretty || wantsPretty(hints(call)));
    context.audit?.responseObject(aggregated);
    await this.send({ path: `${plain.path} aggregated`, build: aggregated }, { ...asked, pretty }, call);
  }

  private etag(path: string, document: () => JsonObject): string {
    let tag = this.tags.get(path);
    if (tag === undefined) {
      const hash = createHash('sha512').update(stringifyJson(document())).digest('hex');
      tag = `"${hash.toUpperCase()}"`;
      this.tags.set(path, tag);
    }
    return tag;
  }

  private async group(name: string, version: string | undefined, call: Call): Promise<void> {
    const group = this.groups().get(name);
    if (group === undefined || name === '') {
      if (name === AGGREGATOR_GROUP && version !== undefined) await this.fail(newGenericNotFound(), call);
      else notFound(call.response);
      return;
    }
    if (version === undefined) {
      // With trailing slashes, the path belongs to the router.
      const routed = call.context.info.path.endsWith('//') && !group.versions.some((one) => one.custom === true);
      if (routed && !(await this.allowsMethod(call))) return;
      await this.write({ path: `/apis/${name}`, build: () => apiGroup(group) }, call);
      return;
    }
    const found = group.versions.find((one) => one.version === version);
    if (found !== undefined) await this.resources(group, found, call);
    else if (group.versions.some((one) => one.custom === true)) notFound(call.response);
    else await this.fail(newGenericNotFound(), call);
  }

  private async resources(group: ApiGroup, version: ApiGroupVersion, call: Call): Promise<void> {
    const routed = version.custom !== true;
    if (routed && !(await this.allowsMethod(call))) return;
    const path = `/apis/${group.name}/${version.version}`;
    // Only the lists of built-in types are served in CBOR.
    const cbor = this.options.cbor && routed;
    await this.write({ path, build: () => apiResourceList(group, version), routed, cbor }, call);
  }

  private async allowsMethod(call: Call): Promise<boolean> {
    if (call.request.method === 'GET') return true;
    const message = 'the server does not allow this method on the requested resource';
    await this.fail(newRouterError(405, 'MethodNotAllowed', message), call);
    return false;
  }

  private fail(error: ApiError, call: Call): Promise<void> {
    return writeStatus(call, error, { ...this.options, cbor: false });
  }

  /** Writes a document. Throws the 406 of the negotiation, which the caller writes like other errors. */
  private async write(document: Document, call: Call): Promise<void> {
    const { routed = false, cbor = false } = document;
    const { accept } = call.request.headers;
    if (routed) checkRoute(accept, 'object', cbor);
    const media = negotiate(accept, { noProtobuf: false, cbor, transforms: false }, hints(call));
    call.context.audit?.responseObject(document.build);
    await this.send(document, media, call);
  }

  private async send({ path, build }: Document, media: Form, { request, response }: Call): Promise<void> {
    const key = `${media.encoding}${media.pretty ? ' pretty' : ''} ${path}`;
    let bytes = this.bytes.get(key);
    if (bytes === undefined) {
      bytes = encodeTree(media, build(), this.options.protobuf);
      this.bytes.set(key, bytes);
    }
    await sendBytes({ request, response, media, compression: this.options.compression, audit: undefined }, 200, bytes);
  }
}

const hints = ({ context, request }: Call): { pretty: string | undefined; userAgent: string } => ({
  pretty: prettyParameter(request.url ?? ''),
  userAgent: context.userAgent,
});

/** Writes the 404 for paths that belong to no API. */
function notFound(response: HttpResponse): void {
  const body = '404 page not found\n';
  response.setHeader('Content-Type', 'text/plain; charset=utf-8');
  response.setHeader('X-Content-Type-Options', 'nosniff');
  response.setHeader('Content-Length', body.length);
  response.writeHead(404);
  response.end(body);
}
