import type { AuthenticationInfo } from '../../../controllers/cluster-authentication-info.js';
import type { AdmissionChain } from '../../../admission/interfaces.js';
import type { ServiceAccountTokenSigner } from '../../../authentication/token/service-account/service-account-signer.js';
import type { UserInfo } from '../../../authentication/user/user.js';
import type { LocalClients } from '../../../registry/generic/loopback/local-client.js';
import type { OffloadConversion } from '../../../registry/customresource/serve-options.js';
import type { ApiRegistry } from '../../../registry/generic/store/api-registry.js';
import type { Cacher } from '../../../storage/cacher/interfaces.js';
import type { Backend } from '../../../storage/interfaces.js';
import type { BuiltinTypes } from '../../../structured-merge-diff/schema/builtin-types.js';
import type { Clock } from '../../../util/clock.js';
import type { Logger } from '../../../util/logger.js';
import type { SigningAuthority } from '../../../pki/sign-request.js';
import type { Authorization } from '../access/authorization.js';
import type { Options } from '../../options/options.js';

/** The credentials and trust data that controllers issue and publish for the server. */
export interface Authorities {
  /** PEM of the CA certificates that verify the server's certificate. */
  readonly rootCa: string;
  /** Issues client certificates. */
  readonly clientCa: SigningAuthority;
  /** The URL of the server; known once it is listening. */
  readonly serverUrl: () => string;
  readonly signer: Pick<ServiceAccountTokenSigner, 'signForSecret'>;
  /** The CAs and headers that the server trusts, published so that other API servers can trust them too. */
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
  readonly offloadConversion: OffloadConversion;
  readonly signal: AbortSignal;
  /** Returns clients that write as `fieldManager`. With a user they are limited to the permissions of that user. */
  readonly clients: (fieldManager: string, user?: UserInfo) => LocalClients;
  readonly authorities: Authorities;
}
