import { randomUUID, type KeyObject } from 'node:crypto';
import { CompactSign } from 'jose';
import { SERVICE_ACCOUNT_PREFIX } from '../../user/user.js';
import { LEGACY_CLAIM, LEGACY_ISSUER, type ObjectReference } from './service-account-claims.js';
import { verificationKey } from './service-account-keys.js';

/** The contents of a bound token. */
export interface BoundTokenRequest {
  readonly namespace: string;
  readonly serviceAccount: ObjectReference;
  readonly audiences: readonly string[];
  /** Milliseconds since the epoch. The token is in whole seconds. */
  readonly now: number;
  readonly expirationSeconds: number;
  /** After this many seconds, uses of the token count as stale; 0: never. */
  readonly warnAfterSeconds?: number;
  readonly pod?: ObjectReference | undefined;
  readonly secret?: ObjectReference | undefined;
  readonly node?: { readonly name: string; readonly uid?: string } | undefined;
}

/** The contents of the token of a Secret of type kubernetes.io/service-account-token. */
export interface SecretTokenRequest {
  readonly namespace: string;
  readonly serviceAccount: ObjectReference;
  readonly secretName: string;
}

/** Issues service account tokens. */
export interface ServiceAccountTokenSigner {
  /** Signs a token that expires; `id` is its credential id without the prefix `JTI=`. */
  signBound(request: BoundTokenRequest): Promise<{ readonly token: string; readonly id: string }>;
  /** Signs a token that lasts as long as its Secret. The same request yields the same claims. */
  signForSecret(request: SecretTokenRequest): Promise<string>;
}

const userName = (namespace: string, name: string): string => `${SERVICE_ACCOUNT_PREFIX}${namespace}:${name}`;

const reference = ({ name, uid }: { name: string; uid?: string }): Record<string, string> => ({
  name,
  ...(uid !== undefined && uid !== '' && { uid }),
});

/** Signs with one RSA or ECDSA key. The header contains its digest. */
export class JwtSigner implements ServiceAccountTokenSigner {
  private readonly header: { readonly alg: string; readonly kid: string };

  constructor(
    private readonly key: KeyObject,
    private readonly issuer: string,
  ) {
    const { algorithm, id } = verificationKey(key);
    this.header = { alg: algorithm, kid: id };
  }

  async signBound(request: BoundTokenRequest): Promise<{ token: string; id: string }> {
    const { namespace, serviceAccount, pod, secret, node, warnAfterSeconds = 0 } = request;
    const now = Math.floor(request.now / 1000);
    const id = randomUUID();
    const token = await this.sign({
      aud: request.audiences,
      exp: now + request.expirationSeconds,
      iat: now,
      iss: this.issuer,
      jti: id,
      'kubernetes.io': {
        namespace,
        ...(node !== undefined && { node: reference(node) }),
        ...(pod !== undefined && { pod: reference(pod) }),
        ...(secret !== undefined && { secret: reference(secret) }),
        serviceaccount: reference(serviceAccount),
        ...(warnAfterSeconds !== 0 && { warnafter: now + warnAfterSeconds }),
      },
      nbf: now,
      sub: userName(namespace, serviceAccount.name),
    });
    return { token, id };
  }

  signForSecret({ namespace, serviceAccount, secretName }: SecretTokenRequest): Promise<string> {
    return this.sign({
      iss: LEGACY_ISSUER,
      [LEGACY_CLAIM.namespace]: namespace,
      [LEGACY_CLAIM.secretName]: secretName,
      [LEGACY_CLAIM.accountName]: serviceAccount.name,
      [LEGACY_CLAIM.accountUid]: serviceAccount.uid,
      sub: userName(namespace, serviceAccount.name),
    });
  }

  private sign(claims: Readonly<Record<string, unknown>>): Promise<string> {
    return new CompactSign(Buffer.from(JSON.stringify(claims), 'utf8'))
      .setProtectedHeader({ ...this.header })
      .sign(this.key);
  }
}
