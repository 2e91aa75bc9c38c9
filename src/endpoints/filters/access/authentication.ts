import { messageOf } from '../../../util/error-message.js';
import { ApiError, newUnauthorized } from '../../../apimachinery/meta/errors.js';
import { AuthenticationError, type AuthenticationResponse } from '../../../authentication/authenticator/interfaces.js';
import { ALL_UNAUTHENTICATED, ANONYMOUS } from '../../../authentication/user/user.js';
import { attributesOf } from './authorization.js';
import { type MaybePromise, settle } from '../../../util/maybe-promise.js';
import type { ChainConfig, Step } from '../chain-config.js';
import type { Exchange } from '../exchange.js';

/** Authenticates the request, or responds with a 401 if no method authenticates it. */
export function withAuthentication(next: Step, config: ChainConfig): Step {
  const { authenticator, gates, metrics, logger } = config;
  const retire = (exchange: Exchange): void => {
    // HTTP/2 is expensive to serve and open to abuse: unauthenticated clients get one request per connection.
    if (exchange.connection.http2 && gates.enabled('UnauthenticatedHTTP2DOSMitigation'))
      exchange.connection.retire(true);
  };
  const now = (): number => config.clock.monotonic();
  const onFailure = (exchange: Exchange, error: unknown): void => {
    metrics.authenticated(exchange, error === undefined ? 'failure' : 'error');
    if (error !== undefined) {
      logger.v(2, 'unable to authenticate the request', {
        auditID: exchange.auditId,
        error: messageOf(error),
      });
    }
    config.audit?.authenticationFailed(exchange, attributesOf(exchange, config));
    retire(exchange);
    const clientMessage = error instanceof AuthenticationError && error.exposeToClient ? error.message : 'Unauthorized';
    // A method that failed has not rejected the credentials, so its ApiError is returned instead of a 401.
    config.writeStatus(exchange, error instanceof ApiError ? error : newUnauthorized(clientMessage));
  };
  const onResponse = (exchange: Exchange, response: AuthenticationResponse | undefined): MaybePromise<void> => {
    if (response === undefined) {
      onFailure(exchange, undefined);
      return undefined;
    }
    const { user } = response;
    exchange.user = user;
    exchange.requestor = user;
    exchange.viaProxy = response.viaProxy === true;
    metrics.authenticated(exchange, 'success');
    if (response.warnings !== undefined) for (const text of response.warnings) exchange.warn(text);
    if (response.annotations !== undefined) {
      for (const [key, value] of Object.entries(response.annotations)) exchange.annotate(key, value);
    }
    if (user.name === ANONYMOUS || user.groups.includes(ALL_UNAUTHENTICATED)) retire(exchange);
    return next(exchange);
  };
  return (exchange) => {
    const began = now();
    return settle(
      () => authenticator.authenticateRequest(exchange),
      (response) => {
        exchange.authenticationMillis = now() - began;
        return exchange.timedOut ? undefined : onResponse(exchange, response);
      },
      (error) => {
        exchange.authenticationMillis = now() - began;
        if (!exchange.timedOut) onFailure(exchange, error);
      },
    );
  };
}
