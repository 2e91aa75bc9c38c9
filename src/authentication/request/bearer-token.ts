import { headerText } from '../../util/text/header-text.js';
import { NEVER_ABORTED } from '../../util/never-aborted.js';
import {
  AuthenticationError,
  type AuthenticationRequest,
  type AuthenticationResponse,
  type RequestAuthenticator,
  type TokenAuthenticator,
} from '../authenticator/interfaces.js';
import { type MaybePromise, then } from '../../util/maybe-promise.js';

const SPACE_WARNING = 'the provided Authorization header contains extra space before the bearer token, and is ignored';

/** Turns a token that no method recognizes into an error; a request without a token is not one. */
export function known(answer: MaybePromise<AuthenticationResponse | undefined>): MaybePromise<AuthenticationResponse> {
  return then(answer, require);
}

function require(response: AuthenticationResponse | undefined): AuthenticationResponse {
  if (response === undefined) throw new AuthenticationError('invalid bearer token');
  return response;
}

/** Returns the token of an Authorization header: '' if extra spaces precede it, undefined if the header has none. */
export function bearerTokenOf(value: string): string | undefined {
  const header = value.trim();
  const scheme = header.indexOf(' ');
  if (scheme < 0 || header.slice(0, scheme).toLowerCase() !== 'bearer') return undefined;
  const end = header.indexOf(' ', scheme + 1);
  return end < 0 ? header.slice(scheme + 1) : header.slice(scheme + 1, end);
}

/** Authenticates `Authorization: Bearer <token>`. */
export class BearerTokenAuthenticator implements RequestAuthenticator {
  constructor(private readonly tokens: TokenAuthenticator) {}

  authenticateRequest(request: AuthenticationRequest): MaybePromise<AuthenticationResponse | undefined> {
    const { authorization } = request.headers;
    const token = authorization === undefined ? undefined : bearerTokenOf(headerText(authorization));
    if (token === undefined) return undefined;
    if (token === '') {
      request.warn?.(SPACE_WARNING);
      return undefined;
    }
    return known(this.tokens.authenticateToken(token, [], NEVER_ABORTED));
  }
}
