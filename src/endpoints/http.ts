import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Http2ServerRequest, Http2ServerResponse } from 'node:http2';
import type { RequestContext } from '../request/context.js';

/** A request as node:http or the compatibility layer of node:http2 gives it. */
export type HttpRequest = IncomingMessage | Http2ServerRequest;
export type HttpResponse = ServerResponse | Http2ServerResponse;

/** Answers a request that passed the chain. What it throws becomes a Status. */
export type Handler = (context: RequestContext, request: HttpRequest, response: HttpResponse) => Promise<void> | void;
