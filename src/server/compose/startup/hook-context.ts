import type { AuthenticationInfo } from '../../../controllers/cluster-authentication-info.js';
import type { AdmissionChain } from '../../../admission/interfaces.js';
import type { ServiceAccountTokenSigner } from '../../../authentication/token/service-account/service-account-signer.js';
import type { UserInfo } from '../../../authentication/user/user.js';
import type { LocalClients } from '../../../registry/generic/loopback/local-client.js';
import type { OffloadShow } from '../../../registry/customresource/serve-options.js';
import type { ApiRegistry } from '../../../registry/generic/store/api-registry.js';
import type { Cacher } from '../../../storage/cacher/interfaces.js';
import type { Backend } from '../../../storage/interfaces.js';
import type { BuiltinTypes } from '../../../structured-merge-diff/schema/builtin-types.js';
import type { Clock } from '../../../util/clock.js';
import type { Logger } from '../../../util/logger.js';
import type { SigningAuthority } from '../../../pki/sign-request.js';
import type { Authorization } from '../access/authorization.js';
import type { Options } from '../../options/options.js';

/** What controllers hand out in the server's name. */
export interface Authorities {
  /** PEM of the certificates that vouch for the server. */
  readonly rootCa: string;
  /** Issues client certificates. */
  readonly clientCa: SigningAuthority;
  /** Known once the server listens. */
  readonly serverUrl: () => string;
  readonly signer: Pick<ServiceAccountTokenSigner, 'signForSecret'>;
  /** Whom the server trusts, for other API servers to trust, too. */
  readonly authenticationInfo: () => AuthenticationInfo;
}

export interface HookOptions {
  readonly options: Options;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly registry: ApiRegistry;
  readonly mergeTypes: BuiltinTypes;
  readonly backend: Backend;
  readonly cacher: Cacher;
  readonly authorization: Authorization;
  readonly admission: AdmissionChain;
  readonly cbor: boolean;
  readonly offloadShow: OffloadShow;
  readonly signal: AbortSignal;
  /** Clients that note this manager in what they write. With a user they may do what that user may. */
  readonly clients: (fieldManager: string, user?: UserInfo) => LocalClients;
  readonly authorities: Authorities;
}
