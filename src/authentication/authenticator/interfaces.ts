import type { TLSSocket } from 'node:tls';
import type { IncomingHttpHeaders } from 'node:http';
import type { UserInfo } from '../user/user.js';
import type { MaybePromise } from '../../util/maybe-promise.js';

/** What an authenticator may look at. */
export interface AuthenticationRequest {
  readonly headers: IncomingHttpHeaders;
  /** Name, value, name, value … as received, so that duplicates can be seen. */
  readonly rawHeaders: readonly string[];
  /** The TLS connection; undefined only where a test has none. */
  readonly socket: TLSSocket | undefined;
  readonly signal: AbortSignal;
  /** The decoded path. */
  readonly path?: string;
  /** Adds a Warning header to the answer. */
  warn?(text: string): void;
}

export interface AuthenticationResponse {
  readonly user: UserInfo;
  /** A proxy vouches for the user, as it does for all whose requests it passes on. */
  readonly viaProxy?: boolean;
  /** Audiences for which the credential is valid; undefined where the method knows none. */
  readonly audiences?: readonly string[];
  /** Texts of Warning headers for the answer. */
  readonly warnings?: readonly string[];
  /** For the audit event. */
  readonly annotations?: Readonly<Record<string, string>>;
}

/** Thrown for a credential that was recognised and is wrong; the union goes on and remembers it. The client gets 401. */
export class AuthenticationError extends Error {
  override readonly name = 'AuthenticationError';
  /** Whether clients may see the text: a token webhook's own words. */
  readonly tellClient: boolean;

  constructor(message: string, { tellClient = false } = {}) {
    super(message);
    this.tellClient = tellClient;
  }
}

/** Undefined: the request holds no credential of this kind. A wrong credential throws AuthenticationError. */
export interface RequestAuthenticator {
  authenticateRequest(request: AuthenticationRequest): MaybePromise<AuthenticationResponse | undefined>;
}

/** Undefined: not a token of this kind. `audiences` empty: the token must be valid for the API server itself. */
export interface TokenAuthenticator {
  authenticateToken(
    token: string,
    audiences: readonly string[],
    signal: AbortSignal,
  ): MaybePromise<AuthenticationResponse | undefined>;
}
