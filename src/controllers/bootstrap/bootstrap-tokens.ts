import { objectAt, stringAt } from '../../apimachinery/json/json.js';
import type { KubeObject } from '../../apimachinery/meta/meta.js';
import { timeMillis } from '../../apimachinery/meta/time.js';

const TOKEN_NAMESPACE = 'kube-system';
const TYPE = 'bootstrap.kubernetes.io/token';
const NAME = /^bootstrap-token-([a-z0-9]{6})$/;

/** Reports whether the Secret is a bootstrap token. */
export const isBootstrapToken = (secret: KubeObject): boolean =>
  secret['type'] === TYPE && secret.metadata.namespace === TOKEN_NAMESPACE;

function dataOf(secret: KubeObject, key: string): string {
  return Buffer.from(stringAt(objectAt(secret, 'data'), key) ?? '', 'base64').toString('utf8');
}

/** Returns when the token expires, in milliseconds since the epoch: Infinity for never, -Infinity if the time cannot be parsed. */
export function expirationOf(secret: KubeObject): number {
  const text = dataOf(secret, 'expiration');
  if (text === '') return Infinity;
  try {
    return timeMillis(text) ?? -Infinity;
  } catch {
    return -Infinity;
  }
}

/** Returns the token if it may sign, regardless of its expiration. */
export function signingToken(secret: KubeObject): { readonly id: string; readonly secret: string } | undefined {
  const id = dataOf(secret, 'token-id');
  const tokenSecret = dataOf(secret, 'token-secret');
  const named = NAME.exec(secret.metadata.name ?? '')?.[1];
  if (named !== id || tokenSecret === '' || dataOf(secret, 'usage-bootstrap-signing') !== 'true') return undefined;
  return { id, secret: tokenSecret };
}
