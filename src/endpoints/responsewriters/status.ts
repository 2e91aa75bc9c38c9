import type { ApiError } from '../../apimachinery/meta/errors.js';
import { isObject, type JsonValue, stringifyJson } from '../../apimachinery/json/json.js';
import type { RequestContext } from '../../request/context.js';
import type { HttpRequest, HttpResponse } from '../http.js';
import { negotiateStatus } from '../negotiation/media.js';
import { wellFormed } from '../../util/text/utf8.js';
import { timed } from '../../util/metrics/stopwatch.js';
import { isClosed, sendBytes, type WriterOptions } from './body.js';
import { encodeTree } from './encoders.js';
import { indentJson } from './indent.js';

const INDENTED = { mediaType: 'application/json' };

/** A request to be answered. */
export interface ResponseTarget {
  readonly context: Pick<RequestContext, 'userAgent' | 'audit' | 'stopwatch'>;
  readonly request: HttpRequest;
  readonly response: HttpResponse;
}

/** Writes an error as a Status in a media type that the client accepts, else as indented JSON. Does nothing if the response has already begun. */
export async function writeStatus(
  { context, request, response }: ResponseTarget,
  error: ApiError,
  { compression, cbor, protobuf }: WriterOptions,
): Promise<void> {
  const { audit, stopwatch } = context;
  if (response.headersSent || isClosed(response)) return;
  const status = writable(error.status);
  const after = status.details?.retryAfterSeconds ?? 0;
  if (after > 0) response.setHeader('Retry-After', String(after));
  const media = negotiateStatus(request.headers.accept, cbor, {
    pretty: prettyParameter(request.url ?? ''),
    userAgent: context.userAgent,
  });
  if (media === undefined) {
    const bytes = Buffer.from(indentJson(stringifyJson(status)));
    await sendBytes({ request, response, media: INDENTED, compression, audit, stopwatch }, status.code, bytes);
  } else {
    audit?.responseStatus(status);
    await timed(stopwatch, 'serialize-response-object', () => {
      const bytes = encodeTree(media, status, protobuf);
      return sendBytes({ request, response, media, compression, audit, stopwatch }, status.code, bytes);
    });
  }
}

/** Returns the value with well-formed strings: text from clients may hold bytes that a response cannot. */
function writable<T extends JsonValue | undefined>(value: T): T;
function writable(value: JsonValue | undefined): JsonValue | undefined {
  if (typeof value === 'string') return wellFormed(value);
  if (Array.isArray(value)) return value.map((item) => writable(item));
  if (!isObject(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([key, member]) => [key, writable(member)]));
}

/** Returns the query parameter `pretty` of a URL. The query is parsed only if it contains that word. */
export function prettyParameter(url: string): string | undefined {
  const mark = url.indexOf('?');
  if (mark === -1 || !url.includes('pretty', mark)) return undefined;
  return new URLSearchParams(url.slice(mark + 1)).get('pretty') ?? undefined;
}
