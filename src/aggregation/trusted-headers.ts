import type {
  AuthenticationRequest,
  AuthenticationResponse,
  RequestAuthenticator,
} from '../authentication/authenticator/interfaces.js';
import { messageOf } from '../util/error-message.js';
import type { RequestHeaderConfig } from '../authentication/request/request-header.js';
import type { MaybePromise } from '../util/maybe-promise.js';

/** The reason why headers were not trusted. */
export type Distrust = 'no-certificate' | 'expired' | 'unknown-authority' | 'name' | 'other';

const REASONS: readonly (readonly [start: string, reason: Distrust])[] = [
  ['x509: certificate has expired or is not yet valid', 'expired'],
  ['x509: certificate signed by unknown authority', 'unknown-authority'],
  ['x509: subject with cn=', 'name'],
];

/** Counts requests with identity headers that do not come from the front proxy: the headers are not trusted. */
export class ForgedHeaderCount implements RequestAuthenticator {
  constructor(
    private readonly headers: RequestAuthenticator,
    private readonly config: () => RequestHeaderConfig,
    private readonly forged: (reason: Distrust, message: string) => void,
  ) {}

  authenticateRequest(request: AuthenticationRequest): MaybePromise<AuthenticationResponse | undefined> {
    let believed: MaybePromise<AuthenticationResponse | undefined>;
    try {
      believed = this.headers.authenticateRequest(request);
    } catch (error) {
      const message = messageOf(error);
      this.count(request, REASONS.find(([start]) => message.startsWith(start))?.[1] ?? 'other', message);
      throw error;
    }
    if (believed === undefined) this.count(request, 'no-certificate', '');
    return believed;
  }

  private count(request: AuthenticationRequest, reason: Distrust, message: string): void {
    const { usernameHeaders, groupHeaders } = this.config();
    const present = (name: string): boolean => request.headers[name.toLowerCase()] !== undefined;
    if (usernameHeaders.some(present) || groupHeaders.some(present)) this.forged(reason, message);
  }
}
