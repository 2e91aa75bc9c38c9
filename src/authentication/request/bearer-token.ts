import { NEVER_ABORTED } from '../../util/never-aborted.js';
import {
  AuthenticationError,
  type AuthenticationRequest,
  type AuthenticationResponse,
  type MaybePromise,
  type RequestAuthenticator,
  type TokenAuthenticator,
} from '../authenticator/interfaces.js';

const SPACE_WARNING = 'the provided Authorization header contains extra space before the bearer token, and is ignored';

/** A token that no method knows is an error, unlike no token at all. */
export function known(answer: MaybePromise<AuthenticationResponse | undefined>): MaybePromise<AuthenticationResponse> {
  if (answer instanceof Promise) return answer.then(require);
  return require(answer);
}

function require(response: AuthenticationResponse | undefined): AuthenticationResponse {
  if (response === undefined) throw new AuthenticationError('invalid bearer token');
  return response;
}

/** `Authorization: Bearer <token>`. */
export class BearerTokenAuthenticator implements RequestAuthenticator {
  constructor(
    private readonly tokens: TokenAuthenticator,
    /** The server's own. */
    private readonly audiences: readonly string[],
  ) {}

  authenticateRequest(request: AuthenticationRequest): MaybePromise<AuthenticationResponse | undefined> {
    const header = request.headers.authorization?.trim();
    if (header === undefined || header === '') return undefined;
    const scheme = header.indexOf(' ');
    if (scheme < 0 || header.slice(0, scheme).toLowerCase() !== 'bearer') return undefined;
    const end = header.indexOf(' ', scheme + 1);
    const token = end < 0 ? header.slice(scheme + 1) : header.slice(scheme + 1, end);
    if (token === '') {
      request.warn?.(SPACE_WARNING);
      return undefined;
    }
    return known(this.tokens.authenticateToken(token, this.audiences, NEVER_ABORTED));
  }
}
