import { quote } from '../../../apimachinery/meta/meta.js';
import type {
  AuthorizationResult,
  AuthorizerAttributes,
  SelectorRequirement,
} from '../../../authorization/authorizer/interfaces.js';
import { NEVER_ABORTED } from '../../../util/never-aborted.js';
import { type MaybePromise, then } from '../../../util/maybe-promise.js';
import type { ChainConfig, Step } from '../chain-config.js';
import type { Exchange } from '../exchange.js';
import { escapeHtml, forbidden } from '../../../authorization/authorizer/forbidden.js';
import { writeText } from '../status.js';

/** Returns the authorizer attributes of a request. */
export function attributesOf(exchange: Exchange, config: ChainConfig): AuthorizerAttributes {
  const { info } = exchange;
  const plain = {
    user: exchange.user,
    verb: info.verb,
    resourceRequest: info.isResourceRequest,
    namespace: info.namespace,
    apiGroup: info.apiGroup,
    apiVersion: info.apiVersion,
    resource: info.resource,
    subresource: info.subresource,
    name: info.name,
    path: info.path,
  };
  const parse = config.parseSelectors;
  if (parse === undefined || (info.fieldSelector === '' && info.labelSelector === '')) return plain;
  let parsed: ReturnType<typeof parse> | undefined;
  const selectors = (): ReturnType<typeof parse> => (parsed ??= parse(info));
  // Parsed when an authorizer reads them: RBAC, which decides on most requests, does not.
  return {
    ...plain,
    get fieldSelector() {
      return selectors().fieldSelector ?? NO_REQUIREMENTS;
    },
    get labelSelector() {
      return selectors().labelSelector ?? NO_REQUIREMENTS;
    },
  };
}

const NO_REQUIREMENTS: readonly SelectorRequirement[] = [];

/** Passes requests that an authorizer allows, and responds to others with a 403. */
export function withAuthorization(next: Step, config: ChainConfig): Step {
  const { authorizer, clock, metrics } = config;
  const decided = (
    exchange: Exchange,
    attributes: AuthorizerAttributes,
    result: AuthorizationResult,
    began: number,
  ): MaybePromise<void> => {
    const millis = clock.monotonic() - began;
    exchange.stopwatch?.record('authorization', millis);
    metrics.authorized(result, millis);
    if (result.decision === 'allow') {
      if (config.audit !== undefined) annotate(exchange, 'allow', result.reason);
      // HTTP/1.1 clients that wait for 100 Continue may send the body now.
      if (exchange.expectsContinue) exchange.response.writeContinue();
      return next(exchange);
    }
    if (result.error !== undefined) {
      exchange.annotate('authorization.k8s.io/reason', 'internal error');
      const text = `Internal Server Error: ${quote(exchange.request.url ?? '')}: ${result.error}`;
      writeText(exchange.response, 500, escapeHtml(text));
      return undefined;
    }
    annotate(exchange, 'forbid', result.reason);
    exchange.response.setHeader('X-Content-Type-Options', 'nosniff');
    config.writeStatus(exchange, forbidden(attributes, result.reason));
    return undefined;
  };
  return (exchange) => {
    const attributes = attributesOf(exchange, config);
    const began = clock.monotonic();
    return then(authorizer.authorize(attributes, NEVER_ABORTED), (known) =>
      exchange.timedOut ? undefined : decided(exchange, attributes, known, began),
    );
  };
}

function annotate(exchange: Exchange, decision: string, reason: string): void {
  exchange.annotate('authorization.k8s.io/decision', decision);
  exchange.annotate('authorization.k8s.io/reason', reason);
}
