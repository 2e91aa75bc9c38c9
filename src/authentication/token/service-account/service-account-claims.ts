import { texts } from '../jws.js';

/** A reference to an object in a token. */
export interface ObjectReference {
  readonly name: string;
  readonly uid: string;
}

/** The issuer of tokens in Secrets, independent of the server's own. */
export const LEGACY_ISSUER = 'kubernetes/serviceaccount';

/** The names of the claims in tokens of Secrets. */
export const LEGACY_CLAIM = {
  namespace: 'kubernetes.io/serviceaccount/namespace',
  secretName: 'kubernetes.io/serviceaccount/secret.name',
  accountName: 'kubernetes.io/serviceaccount/service-account.name',
  accountUid: 'kubernetes.io/serviceaccount/service-account.uid',
} as const;

/** The claims of both kinds of tokens. Times are in seconds since the epoch; undefined means unlimited. */
export interface CommonClaims {
  readonly subject: string;
  readonly audiences: readonly string[];
  readonly expiry: number | undefined;
  readonly notBefore: number | undefined;
  readonly issuedAt: number | undefined;
  readonly id: string;
}

/** A token that expires and is bound to its service account and optionally to another object. */
export interface BoundClaims extends CommonClaims {
  readonly kind: 'bound';
  readonly namespace: string;
  readonly serviceAccount: ObjectReference;
  readonly pod: ObjectReference | undefined;
  readonly secret: ObjectReference | undefined;
  readonly node: ObjectReference | undefined;
  readonly warnAfter: number | undefined;
}

/** The token of a Secret. A missing claim is ''. */
export interface LegacyClaims extends CommonClaims {
  readonly kind: 'legacy';
  readonly namespace: string;
  readonly secretName: string;
  readonly accountName: string;
  readonly accountUid: string;
}

export type ServiceAccountClaims = BoundClaims | LegacyClaims;

type Claims = Readonly<Record<string, unknown>>;

/** A claim has the wrong type. */
export class ClaimError extends Error {
  override readonly name = 'ClaimError';
}

function text(claims: Claims, name: string): string {
  const value = claims[name];
  if (value === undefined || value === null) return '';
  if (typeof value !== 'string') throw new ClaimError(`claim ${JSON.stringify(name)} is not a string`);
  return value;
}

function seconds(claims: Claims, name: string): number | undefined {
  const value = claims[name];
  if (value === undefined || value === null) return undefined;
  if (typeof value !== 'number' || !Number.isFinite(value)) {
    throw new ClaimError(`claim ${JSON.stringify(name)} is not a number`);
  }
  return Math.trunc(value);
}

function part(claims: Claims, name: string): Claims | undefined {
  const value = claims[name];
  if (value === undefined || value === null) return undefined;
  if (typeof value !== 'object' || Array.isArray(value)) {
    throw new ClaimError(`claim ${JSON.stringify(name)} is not an object`);
  }
  return value as Claims;
}

function reference(claims: Claims, name: string): ObjectReference | undefined {
  const found = part(claims, name);
  return found === undefined ? undefined : { name: text(found, 'name'), uid: text(found, 'uid') };
}

function audiencesOf(claims: Claims): readonly string[] {
  const { aud } = claims;
  if (aud === undefined || aud === null) return [];
  const audiences = texts(aud);
  if (audiences === undefined) throw new ClaimError('claim "aud" is neither a string nor a list of strings');
  return audiences;
}

/** Parses the claims of a token whose signature has been verified. Throws ClaimError. */
export function readServiceAccountClaims(claims: Claims): ServiceAccountClaims {
  const common: CommonClaims = {
    subject: text(claims, 'sub'),
    audiences: audiencesOf(claims),
    expiry: seconds(claims, 'exp'),
    notBefore: seconds(claims, 'nbf'),
    issuedAt: seconds(claims, 'iat'),
    id: text(claims, 'jti'),
  };
  if (text(claims, 'iss') === LEGACY_ISSUER) {
    return {
      ...common,
      kind: 'legacy',
      namespace: text(claims, LEGACY_CLAIM.namespace),
      secretName: text(claims, LEGACY_CLAIM.secretName),
      accountName: text(claims, LEGACY_CLAIM.accountName),
      accountUid: text(claims, LEGACY_CLAIM.accountUid),
    };
  }
  const own = part(claims, 'kubernetes.io') ?? {};
  return {
    ...common,
    kind: 'bound',
    namespace: text(own, 'namespace'),
    serviceAccount: reference(own, 'serviceaccount') ?? { name: '', uid: '' },
    pod: reference(own, 'pod'),
    secret: reference(own, 'secret'),
    node: reference(own, 'node'),
    warnAfter: seconds(own, 'warnafter'),
  };
}
