import express from 'express';
import type { Handler, HttpRequest, HttpResponse } from '../../endpoints/http.js';
import { Http2Request, Http2Response } from '@annex/http2';
import type { Exchange } from '../../endpoints/filters/exchange.js';
import { writeText } from '../../endpoints/filters/status.js';
import { wellFormed } from '../../util/text/utf8.js';

declare module 'express-serve-static-core' {
  interface Application {
    // With the prototypes below, an application accepts requests of both protocols.
    (request: HttpRequest, response: HttpResponse, next: (error?: unknown) => void): void;
  }
}

/**
 * Returns the methods of Express on top of `base`. Express derives its requests and responses from node:http; those of HTTP/2
 * need the same methods on top of our classes.
 */
function bridged(methods: object, base: object): object {
  const out = Object.create(base) as object;
  for (
    let layer: object | null = methods;
    layer !== null && !isNodes(layer);
    layer = Object.getPrototypeOf(layer) as object | null
  ) {
    for (const [name, property] of Object.entries(Object.getOwnPropertyDescriptors(layer))) {
      if (name !== 'constructor' && !Object.hasOwn(out, name)) Object.defineProperty(out, name, property);
    }
  }
  return out;
}

/** Reports whether a prototype is Node's own, at which the prototypes of Express end. */
const isNodes = (layer: object): boolean =>
  Object.hasOwn(layer, 'constructor') && /^(IncomingMessage|ServerResponse)$/.test(layer.constructor.name);

interface ExpressPrototypes {
  request: object;
  response: object;
}

function makeApp(router: express.Router, protocol: 'HTTP/1.1' | 'HTTP/2'): express.Express {
  const app = express();
  app.disable('x-powered-by');
  app.disable('etag');
  app.set('query parser', false);
  if (protocol === 'HTTP/2') {
    const prototypes: ExpressPrototypes = app;
    prototypes.request = bridged(app.request, Http2Request.prototype);
    prototypes.response = bridged(app.response, Http2Response.prototype);
  }
  app.use(router);
  return app;
}

/** The non-resource paths, as an Express application for both protocols. */
export class NonResourceRoutes {
  private readonly router = express.Router({ caseSensitive: true, strict: true });
  private readonly http1 = makeApp(this.router, 'HTTP/1.1');
  private readonly http2 = makeApp(this.router, 'HTTP/2');
  private readonly exchanges = new WeakMap<object, Exchange>();
  private readonly exact = new Set<string>();
  private readonly listed = new Set<string>();
  private readonly providers: (() => Iterable<string>)[] = [];

  /** Registers the handler of exactly this path, for every method. The index shows the path if `listed` is true. */
  register(path: string, handler: Handler, { listed }: { readonly listed: boolean } = { listed: true }): void {
    if (this.exact.has(path)) throw new Error(`the path ${path} is already registered`);
    this.exact.add(path);
    if (listed) this.listed.add(path);
    this.router.all(escapePath(path), this.adapt(handler));
  }

  /** Registers the handler of all paths that begin with `prefix`, which ends with a slash. */
  registerPrefix(prefix: string, handler: Handler): void {
    this.router.all(`${escapePath(prefix)}*rest`, this.adapt(handler));
    this.register(prefix, handler, { listed: false });
  }

  /** Reports whether exactly this path is registered. */
  has(path: string): boolean {
    return this.exact.has(path);
  }

  /** Adds paths to the index that may change at any time. */
  addPaths(provider: () => Iterable<string>): void {
    this.providers.push(provider);
  }

  /** Returns the paths of the index at `/`, sorted. */
  paths(): string[] {
    const all = new Set(this.listed);
    for (const provider of this.providers) for (const path of provider()) all.add(path);
    return [...all].sort();
  }

  readonly handle = (exchange: Exchange): Promise<void> =>
    new Promise((resolve, reject) => {
      const { request, response } = exchange;
      this.exchanges.set(request, exchange);
      this.settle.set(exchange, resolve);
      const done = (error?: unknown): void => {
        if (error === undefined || error === null) {
          writeText(response, 404, '404 page not found');
          resolve();
        } else reject(error instanceof Error ? error : new Error('a route failed'));
      };
      // A target that is only a host has no path, not even `/`.
      if (exchange.path === '') {
        done();
        return;
      }
      const url = request.url ?? '';
      if (url.includes('%')) request.url = routed(exchange.path, url);
      // Express also routes by method, and HEAD as GET; every route here accepts all methods.
      const app = exchange.connection.http2 ? this.http2 : this.http1;
      app(request, response, done);
    });

  private readonly settle = new WeakMap<Exchange, () => void>();

  private adapt(handler: Handler): express.RequestHandler {
    const run = async (exchange: Exchange, next: (error?: unknown) => void): Promise<void> => {
      try {
        await handler(exchange, exchange.request, exchange.response);
        this.settle.get(exchange)?.();
      } catch (error) {
        next(error);
      }
    };
    return (request, _response, next) => {
      const exchange = this.exchanges.get(request);
      if (exchange === undefined) throw new Error('a request bypassed the handler chain');
      void run(exchange, next);
    };
  }
}

/** Returns the URL by which Express finds the route: routes match unescaped paths, and Express rejects escapes that are not UTF-8. */
function routed(path: string, url: string): string {
  const query = url.indexOf('?');
  const plain = wellFormed(path).replace(/[^\w\-./~:@!$&'()*+,;=]+/g, encodeURIComponent);
  return query < 0 ? plain : plain + url.slice(query);
}

const escapePath = (path: string): string => path.replace(/[{}()[\]+?!:*\\]/g, '\\$&');
