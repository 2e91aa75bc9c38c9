import type { TLSSocket } from 'node:tls';
import type { IncomingHttpHeaders } from 'node:http';
import type { UserInfo } from '../user/user.js';
import type { MaybePromise } from '../../util/maybe-promise.js';

/** The parts of a request that an authenticator may read. */
export interface AuthenticationRequest {
  readonly headers: IncomingHttpHeaders;
  /** Name, value, name, value … as received, so that duplicates are visible. */
  readonly rawHeaders: readonly string[];
  /** The TLS connection; undefined only in tests. */
  readonly socket: TLSSocket | undefined;
  readonly signal: AbortSignal;
  /** The decoded path of the URL. */
  readonly path?: string;
  /** Adds a Warning header to the response. */
  warn?(text: string): void;
}

export interface AuthenticationResponse {
  readonly user: UserInfo;
  /** True if a front proxy vouches for the user, as it does for every request that it forwards. */
  readonly viaProxy?: boolean;
  /** The audiences for which the credential is valid; undefined if the method does not support audiences. */
  readonly audiences?: readonly string[];
  /** The texts of Warning headers for the response. */
  readonly warnings?: readonly string[];
  /** Annotations for the audit event. */
  readonly annotations?: Readonly<Record<string, string>>;
}

/** Thrown for a credential that was recognized but is invalid. The union remembers it and tries the next method. The client gets 401. */
export class AuthenticationError extends Error {
  override readonly name = 'AuthenticationError';
  /** True if clients may see the message, which is then a token webhook's own text. */
  readonly exposeToClient: boolean;

  constructor(message: string, { exposeToClient = false } = {}) {
    super(message);
    this.exposeToClient = exposeToClient;
  }
}

/** Returns undefined if the request has no credential of this kind. Throws AuthenticationError if the credential is invalid. */
export interface RequestAuthenticator {
  authenticateRequest(request: AuthenticationRequest): MaybePromise<AuthenticationResponse | undefined>;
}

/** Returns undefined if the token is not of this kind. With empty `audiences` the token must be valid for the API server itself. */
export interface TokenAuthenticator {
  authenticateToken(
    token: string,
    audiences: readonly string[],
    signal: AbortSignal,
  ): MaybePromise<AuthenticationResponse | undefined>;
}
