import type { KubeObject } from '../../apimachinery/meta/meta.js';
import { timeMillis } from '../../apimachinery/meta/time.js';
import { BOOTSTRAP_TOKEN_TYPE, dataOf } from '../../authentication/token/bootstrap.js';

/** Timers hold at most 2^31 ms; tokens that expire later are checked again. */
export const LONGEST_WAIT_MILLIS = 86_400_000;
const TOKEN_NAMESPACE = 'kube-system';
const NAME = /^bootstrap-token-([a-z0-9]{6})$/;

/** Reports whether the Secret is a bootstrap token. */
export const isBootstrapToken = (secret: KubeObject): boolean =>
  secret['type'] === BOOTSTRAP_TOKEN_TYPE && secret.metadata.namespace === TOKEN_NAMESPACE;

/** Returns when the token expires, in milliseconds since the epoch: Infinity for never, -Infinity if the time cannot be parsed. */
export function expirationOf(secret: KubeObject): number {
  const text = dataOf(secret, 'expiration');
  return text === '' ? Infinity : (timeMillis(text) ?? -Infinity);
}

/** Returns the token if it may sign, regardless of its expiration. */
export function signingToken(secret: KubeObject): { readonly id: string; readonly secret: string } | undefined {
  const id = dataOf(secret, 'token-id');
  const tokenSecret = dataOf(secret, 'token-secret');
  const named = NAME.exec(secret.metadata.name ?? '')?.[1];
  if (named !== id || tokenSecret === '' || dataOf(secret, 'usage-bootstrap-signing') !== 'true') return undefined;
  return { id, secret: tokenSecret };
}
