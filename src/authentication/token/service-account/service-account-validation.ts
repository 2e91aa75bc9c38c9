import { hasDeletionTimestamp, type KubeObject } from '../../../apimachinery/meta/meta.js';
import { objectAt, stringAt } from '../../../apimachinery/json/json.js';
import { isDns1123Label, nameIsDnsSubdomain } from '../../../apimachinery/validation/names.js';
import { AuthenticationError } from '../../authenticator/interfaces.js';
import { SERVICE_ACCOUNT_PREFIX } from '../../user/user.js';
import type { BoundClaims, CommonClaims, LegacyClaims, ObjectReference } from './service-account-claims.js';
import type { BoundKind } from './service-account-objects.js';
import { sameSecret } from '../../../util/same-secret.js';

const LEEWAY_SECONDS = 60;
const INVALIDATED = 'service account token has been invalidated';
/** The type of the Secrets that hold tokens, and their annotations with the service account. */
export const TOKEN_SECRET_TYPE = 'kubernetes.io/service-account-token';
export const ACCOUNT_NAME_ANNOTATION = 'kubernetes.io/service-account.name';
export const ACCOUNT_UID_ANNOTATION = 'kubernetes.io/service-account.uid';
export const INVALID_SINCE_LABEL = 'kubernetes.io/legacy-token-invalid-since';
export const LAST_USED_LABEL = 'kubernetes.io/legacy-token-last-used';

/** Returns an object by kind, or undefined if it does not exist. */
export type Find = (kind: BoundKind, namespace: string, name: string) => KubeObject | undefined;

/** Verifies that the token is valid at `now`, in milliseconds. Throws AuthenticationError. */
export function checkTimes({ expiry, notBefore, issuedAt }: CommonClaims, now: number): void {
  const seconds = now / 1000;
  if (notBefore !== undefined && seconds + LEEWAY_SECONDS < notBefore) {
    throw new AuthenticationError('service account token is not valid yet');
  }
  if (expiry !== undefined && seconds - LEEWAY_SECONDS > expiry) {
    throw new AuthenticationError('service account token has expired');
  }
  if (issuedAt !== undefined && seconds + LEEWAY_SECONDS < issuedAt) {
    throw new AuthenticationError('service account token is issued in the future');
  }
}

/** Reports whether the object was deleted longer ago than the allowed clock skew. */
function deleted(object: KubeObject, now: number): boolean {
  const at = object.metadata.deletionTimestamp;
  return typeof at === 'string' && Date.parse(at) < now - LEEWAY_SECONDS * 1000;
}

function requireAccount(find: Find, namespace: string, name: string): KubeObject {
  const account = find('serviceaccounts', namespace, name);
  if (account === undefined) throw new AuthenticationError(`serviceaccounts "${name}" not found`);
  return account;
}

function checkBoundObject(object: KubeObject | undefined, what: string, ref: ObjectReference, now: number): void {
  if (object === undefined) throw new AuthenticationError(INVALIDATED);
  const uid = object.metadata.uid ?? '';
  if (uid !== ref.uid) {
    throw new AuthenticationError(`${what} UID (${uid}) does not match service account ${what} ref claim (${ref.uid})`);
  }
  if (deleted(object, now)) throw new AuthenticationError(INVALIDATED);
}

/** Verifies that every object that a bound token refers to still exists. Throws AuthenticationError. */
export function checkBoundObjects(claims: BoundClaims, find: Find, now: number): void {
  const { namespace, serviceAccount, secret, pod, node } = claims;
  const account = requireAccount(find, namespace, serviceAccount.name);
  const uid = account.metadata.uid ?? '';
  if (uid !== serviceAccount.uid) {
    throw new AuthenticationError(`service account UID (${uid}) does not match claim (${serviceAccount.uid})`);
  }
  if (deleted(account, now)) {
    throw new AuthenticationError(`service account ${namespace}/${serviceAccount.name} has been deleted`);
  }
  if (secret !== undefined) checkBoundObject(find('secrets', namespace, secret.name), 'secret', secret, now);
  if (pod !== undefined) checkBoundObject(find('pods', namespace, pod.name), 'pod', pod, now);
  // If the token is bound to a pod, its node is passed on but not checked.
  else if (node !== undefined) checkBoundObject(find('nodes', '', node.name), 'node', node, now);
}

function splitUserName(user: string): readonly [string, string] | undefined {
  if (!user.startsWith(SERVICE_ACCOUNT_PREFIX)) return undefined;
  const [namespace = '', name = '', ...more] = user.slice(SERVICE_ACCOUNT_PREFIX.length).split(':');
  const good = more.length === 0 && isDns1123Label(namespace).length === 0 && nameIsDnsSubdomain(name).length === 0;
  return good ? [namespace, name] : undefined;
}

/** Verifies that the claims of a Secret's token are complete and consistent. Throws AuthenticationError. */
export function checkLegacyClaims(claims: LegacyClaims): void {
  const required: readonly (readonly [string, string])[] = [
    [claims.subject, 'sub'],
    [claims.namespace, 'namespace'],
    [claims.secretName, 'secretName'],
    [claims.accountName, 'serviceAccountName'],
    [claims.accountUid, 'serviceAccountUID'],
  ];
  for (const [value, name] of required) {
    if (value === '') throw new AuthenticationError(`${name} claim is missing`);
  }
  const [namespace, name] = splitUserName(claims.subject) ?? ['', ''];
  if (namespace !== claims.namespace || name !== claims.accountName)
    throw new AuthenticationError('sub claim is invalid');
}

/** Verifies that the Secret and the service account of a token still exist, and returns the Secret. Throws AuthenticationError. */
export function checkLegacyObjects(
  claims: LegacyClaims,
  token: string,
  find: Find,
): { secret: KubeObject; autoGenerated: boolean } {
  const { namespace, secretName, accountName, accountUid } = claims;
  const secret = find('secrets', namespace, secretName);
  if (secret === undefined || hasDeletionTimestamp(secret)) {
    throw new AuthenticationError('Token has been invalidated');
  }
  const stored = Buffer.from(stringAt(objectAt(secret, 'data'), 'token') ?? '', 'base64').toString('utf8');
  if (!sameSecret(stored, token)) throw new AuthenticationError("Token does not match server's copy");
  const account = requireAccount(find, namespace, accountName);
  if (hasDeletionTimestamp(account)) {
    throw new AuthenticationError(`ServiceAccount ${namespace}/${accountName} has been deleted`);
  }
  const uid = account.metadata.uid ?? '';
  if (uid !== accountUid) {
    throw new AuthenticationError(`ServiceAccount UID (${uid}) does not match claim (${accountUid})`);
  }
  return { secret, autoGenerated: refersTo(account, secretName) };
}

function refersTo(account: KubeObject, secretName: string): boolean {
  const { secrets } = account;
  return (
    Array.isArray(secrets) &&
    secrets.some(
      (item) => typeof item === 'object' && item !== null && !Array.isArray(item) && item['name'] === secretName,
    )
  );
}

/** Returns the error message for a token whose Secret an administrator has marked invalid, or undefined if it is not marked. */
export function invalidSince(secret: KubeObject, claims: LegacyClaims): string | undefined {
  if ((secret.metadata.labels?.[INVALID_SINCE_LABEL] ?? '') === '') return undefined;
  const { namespace, secretName, accountName } = claims;
  return `the token in secret ${namespace}/${secretName} for service account ${namespace}/${accountName} has been marked invalid. Use tokens from the TokenRequest API or manually created secret-based tokens, or remove the '${INVALID_SINCE_LABEL}' label from the secret to temporarily allow use of this token`;
}
