import type {
  AuthenticationRequest,
  AuthenticationResponse,
  RequestAuthenticator,
} from '../authenticator/interfaces.js';
import { then } from '../../util/maybe-promise.js';
import { ALL_UNAUTHENTICATED, ANONYMOUS, type UserInfo } from '../user/user.js';

const USER: UserInfo = { name: ANONYMOUS, uid: '', groups: [ALL_UNAUTHENTICATED], extra: {} };
const RESPONSE: AuthenticationResponse = { user: USER };

/** Authenticates requests without credentials as system:anonymous; if `paths` are given, only on those paths. */
export class AnonymousAuthenticator implements RequestAuthenticator {
  private readonly paths: ReadonlySet<string>;

  constructor(paths: readonly string[] = []) {
    this.paths = new Set(paths);
  }

  authenticateRequest(request: AuthenticationRequest): AuthenticationResponse | undefined {
    if (this.paths.size > 0 && !this.paths.has(request.path ?? '')) return undefined;
    return RESPONSE;
  }
}

/** Calls `fallback` only if `main` finds no credential at all. An invalid credential stays an error. */
export class WithFallback implements RequestAuthenticator {
  constructor(
    private readonly main: RequestAuthenticator,
    private readonly fallback: RequestAuthenticator,
  ) {}

  authenticateRequest(request: AuthenticationRequest): ReturnType<RequestAuthenticator['authenticateRequest']> {
    return then(
      this.main.authenticateRequest(request),
      (response) => response ?? this.fallback.authenticateRequest(request),
    );
  }
}
