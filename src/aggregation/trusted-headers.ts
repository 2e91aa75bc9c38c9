import type {
  AuthenticationRequest,
  AuthenticationResponse,
  MaybePromise,
  RequestAuthenticator,
} from '../authentication/authenticator/interfaces.js';
import type { RequestHeaderConfig } from '../authentication/request/request-header.js';

/** Counts requests that say who asks without being from the front proxy: the headers are not believed. */
export class ForgedHeaderCount implements RequestAuthenticator {
  constructor(
    private readonly headers: RequestAuthenticator,
    private readonly config: () => RequestHeaderConfig,
    private readonly forged: () => void,
  ) {}

  authenticateRequest(request: AuthenticationRequest): MaybePromise<AuthenticationResponse | undefined> {
    let believed: MaybePromise<AuthenticationResponse | undefined>;
    try {
      believed = this.headers.authenticateRequest(request);
    } catch (error) {
      this.count(request);
      throw error;
    }
    if (believed === undefined) this.count(request);
    return believed;
  }

  private count(request: AuthenticationRequest): void {
    const { usernameHeaders, groupHeaders } = this.config();
    const present = (name: string): boolean => request.headers[name.toLowerCase()] !== undefined;
    if (usernameHeaders.some(present) || groupHeaders.some(present)) this.forged();
  }
}
