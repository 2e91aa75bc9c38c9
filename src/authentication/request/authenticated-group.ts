import type {
  AuthenticationRequest,
  AuthenticationResponse,
  RequestAuthenticator,
} from '../authenticator/interfaces.js';
import { ALL_AUTHENTICATED, ALL_UNAUTHENTICATED, ANONYMOUS } from '../user/user.js';
import { type MaybePromise, then } from '../../util/maybe-promise.js';

/** Adds every authenticated user to system:authenticated. */
export class AuthenticatedGroupAdder implements RequestAuthenticator {
  /** Methods return the same response object for the same credential, so its extended form is cached per response. */
  private readonly extended = new WeakMap<AuthenticationResponse, AuthenticationResponse>();

  constructor(private readonly inner: RequestAuthenticator) {}

  authenticateRequest(request: AuthenticationRequest): MaybePromise<AuthenticationResponse | undefined> {
    const answer = this.inner.authenticateRequest(request);
    return then(answer, (response) => this.extend(response));
  }

  private extend(response: AuthenticationResponse | undefined): AuthenticationResponse | undefined {
    if (response === undefined) return undefined;
    let out = this.extended.get(response);
    if (out === undefined) {
      out = withGroup(response);
      this.extended.set(response, out);
    }
    return out;
  }
}

function withGroup(response: AuthenticationResponse): AuthenticationResponse {
  const { user } = response;
  const { groups } = user;
  if (user.name === ANONYMOUS || groups.includes(ALL_AUTHENTICATED) || groups.includes(ALL_UNAUTHENTICATED)) {
    return response;
  }
  return { ...response, user: { ...user, groups: [...groups, ALL_AUTHENTICATED] } };
}
