import { objectAt, stringAt } from '../../apimachinery/json/json.js';
import type { KubeObject } from '../../apimachinery/meta/meta.js';
import { timeMillis } from '../../apimachinery/meta/time.js';

const TOKEN_NAMESPACE = 'kube-system';
const TYPE = 'bootstrap.kubernetes.io/token';
const NAME = /^bootstrap-token-([a-z0-9]{6})$/;

/** The Secret of a bootstrap token. */
export const isBootstrapToken = (secret: KubeObject): boolean =>
  secret['type'] === TYPE && secret.metadata.namespace === TOKEN_NAMESPACE;

function dataOf(secret: KubeObject, key: string): string {
  return Buffer.from(stringAt(objectAt(secret, 'data'), key) ?? '', 'base64').toString('utf8');
}

/** When the token ends, in milliseconds since the epoch: Infinity for never, -Infinity where the time cannot be read. */
export function expirationOf(secret: KubeObject): number {
  const text = dataOf(secret, 'expiration');
  if (text === '') return Infinity;
  try {
    return timeMillis(text) ?? -Infinity;
  } catch {
    return -Infinity;
  }
}

/** A token that may sign, whatever its end. */
export function signingToken(secret: KubeObject): { readonly id: string; readonly secret: string } | undefined {
  const id = dataOf(secret, 'token-id');
  const tokenSecret = dataOf(secret, 'token-secret');
  const named = NAME.exec(secret.metadata.name ?? '')?.[1];
  if (named !== id || tokenSecret === '' || dataOf(secret, 'usage-bootstrap-signing') !== 'true') return undefined;
  return { id, secret: tokenSecret };
}
