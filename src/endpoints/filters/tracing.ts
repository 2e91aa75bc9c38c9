import { SYSTEM_PRIVILEGED_GROUP } from '../../authentication/user/user.js';
import type { RequestInfo } from '../../request/request-info.js';
import { runFinally } from '../../util/maybe-promise.js';
import type { TracedRequest } from '../../request/tracer.js';
import { MAX_LOGGED, truncated } from '../../util/text/truncated.js';
import type { ChainConfig, Step } from './chain-config.js';
import type { Exchange } from './exchange.js';

const MONITORING_GROUP = 'system:monitoring';

/** Returns kube-apiserver's name for the span: the method and the route. */
function spanName(method: string, info: RequestInfo): string {
  if (!info.isResourceRequest) return method;
  const parts = [
    info.apiPrefix,
    info.apiGroup,
    info.apiVersion,
    info.namespace === '' ? '' : 'namespaces/{:namespace}',
    info.resource,
    info.name === '' ? '' : '{:name}',
    info.subresource,
  ];
  return `${method} /${parts.filter((part) => part !== '').join('/')}`;
}

/** Traces requests, after authentication: only privileged users and requests from the cluster's API server decide what is traced. */
export function withTracing(next: Step, config: ChainConfig): Step {
  const { tracer } = config;
  if (tracer === undefined) return next;
  return (exchange) => {
    const span = tracer.begin(requestOf(exchange));
    span
      .start('authentication', undefined, exchange.receivedAt)
      .end(undefined, exchange.receivedAt + exchange.authenticationMillis);
    exchange.span = span;
    const ended = (error: unknown): void => {
      span.setAttributes({ 'http.status_code': exchange.response.statusCode });
      span.end(error);
    };
    return span.run(() => runFinally(() => next(exchange), ended));
  };
}

function requestOf(exchange: Exchange): TracedRequest {
  const { method, info, headers, user, auditId, viaProxy } = exchange;
  const { traceparent } = headers;
  return {
    name: truncated(spanName(method, info), MAX_LOGGED.uri),
    traceparent: typeof traceparent === 'string' ? traceparent : undefined,
    isTrusted: viaProxy || user.groups.some((group) => group === SYSTEM_PRIVILEGED_GROUP || group === MONITORING_GROUP),
    // The query is omitted, because clients put tokens there.
    attributes: {
      'http.method': truncated(method, MAX_LOGGED.method),
      'http.target': truncated(exchange.path, MAX_LOGGED.uri),
      'http.user_agent': truncated(exchange.userAgent, MAX_LOGGED.userAgent),
      'audit-id': truncated(auditId, MAX_LOGGED.auditId),
    },
    began: exchange.receivedAt,
  };
}
