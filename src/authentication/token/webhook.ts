import type { WebhookTransport } from '../../client/webhook/connection.js';
import { withBackoff } from '../../client/webhook/retries.js';
import type { Clock } from '../../util/clock.js';
import {
  AuthenticationError,
  type AuthenticationResponse,
  type TokenAuthenticator,
} from '../authenticator/interfaces.js';
import { readTokenReview, tokenReviewBody, type TokenReviewStatus, type TokenReviewVersion } from './token-review.js';
import { messageOf } from '../../util/error-message.js';

export const TOKEN_REVIEW_TIMEOUT_MILLIS = 30_000;

export interface WebhookTokenOptions {
  readonly version: TokenReviewVersion;
  /** The audiences of the server. */
  readonly audiences: readonly string[];
  readonly transport: WebhookTransport;
  readonly clock: Clock;
  /** Returns a number in [0, 1) for the jitter of retries. */
  readonly random: () => number;
  /** Called for every failed call; the text contains no token. */
  readonly failed: (text: string) => void;
}

/** Authenticates tokens with TokenReviews of a remote service. This is slow: put a cache in front of it. */
export class WebhookTokenAuthenticator implements TokenAuthenticator {
  constructor(private readonly options: WebhookTokenOptions) {}

  async authenticateToken(
    token: string,
    asked: readonly string[],
    signal: AbortSignal,
  ): Promise<AuthenticationResponse | undefined> {
    const { audiences: own, version, failed } = this.options;
    const wanted = asked.length === 0 ? own : asked;
    let status: TokenReviewStatus;
    try {
      const body = tokenReviewBody(token, wanted, version);
      status = await withBackoff(() => this.ask(body, signal), this.options, signal);
    } catch (error) {
      const why = messageOf(error);
      failed(why);
      throw new AuthenticationError(why);
    }
    // A service that does not support audiences authenticates for the server itself.
    const held = status.audiences.length === 0 ? own : status.audiences;
    const audiences = wanted.filter((audience) => held.includes(audience));
    if (wanted.length > 0 && audiences.length === 0) return undefined;
    if (!status.authenticated) {
      if (status.error === '') return undefined;
      throw new AuthenticationError(status.error, { exposeToClient: true });
    }
    if (status.user.name === '') throw new AuthenticationError('the webhook authenticated a user without a name');
    return { user: status.user, audiences };
  }

  private async ask(body: string, signal: AbortSignal): Promise<TokenReviewStatus> {
    const { transport, version } = this.options;
    return readTokenReview(await transport.post(body, TOKEN_REVIEW_TIMEOUT_MILLIS, signal), version);
  }
}
