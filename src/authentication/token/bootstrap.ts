import { objectAt, stringAt } from '../../apimachinery/json/json.js';
import { hasDeletionTimestamp, type KubeObject } from '../../apimachinery/meta/meta.js';
import { parseTime, TimeError } from '../../apimachinery/meta/time.js';
import type { Clock } from '../../util/clock.js';
import type { AuthenticationResponse, TokenAuthenticator } from '../authenticator/interfaces.js';
import { sameSecret } from '../../util/same-secret.js';

const TOKEN = /^([a-z0-9]{6})\.([a-z0-9]{16})$/;
/** The type of the Secrets that hold bootstrap tokens. */
export const BOOTSTRAP_TOKEN_TYPE = 'bootstrap.kubernetes.io/token';
const DEFAULT_GROUP = 'system:bootstrappers';
const EXTRA_GROUP = /^system:bootstrappers:[a-z0-9:-]{0,255}[a-z0-9]$/;

export interface BootstrapTokenOptions {
  /** Returns the Secret in kube-system with this name from the cache. Callers must not modify it. */
  readonly secret: (name: string) => KubeObject | undefined;
  readonly clock: Clock;
  /** Called with the reason when a token that has a Secret is refused; the text contains no secret. */
  readonly refused: (text: string) => void;
}

/** Authenticates bootstrap tokens (`id.secret`), which are Secrets in kube-system that nodes join with. */
export class BootstrapTokenAuthenticator implements TokenAuthenticator {
  constructor(private readonly options: BootstrapTokenOptions) {}

  authenticateToken(token: string): AuthenticationResponse | undefined {
    const [, id, given] = TOKEN.exec(token) ?? [];
    if (id === undefined || given === undefined) return undefined;
    const name = `bootstrap-token-${id}`;
    const secret = this.options.secret(name);
    if (secret === undefined) return undefined;
    const why = this.problem(secret, id, given);
    if (why !== undefined) {
      this.options.refused(`bootstrap secret kube-system/${name} matching bearer token ${why}`);
      return undefined;
    }
    const groups = groupsOf(dataOf(secret, 'auth-extra-groups'));
    if (groups === undefined) {
      this.options.refused(
        `bootstrap secret kube-system/${name} matching bearer token has invalid value for key auth-extra-groups`,
      );
      return undefined;
    }
    return { user: { name: `system:bootstrap:${id}`, uid: '', groups, extra: {} } };
  }

  private problem(secret: KubeObject, id: string, given: string): string | undefined {
    if (hasDeletionTimestamp(secret)) return 'is deleted and awaiting removal';
    if (secret['type'] !== BOOTSTRAP_TOKEN_TYPE) return `has invalid type, expected ${BOOTSTRAP_TOKEN_TYPE}`;
    if (!sameSecret(dataOf(secret, 'token-secret'), given)) return 'has invalid value for key token-secret';
    if (dataOf(secret, 'token-id') !== id) return 'has invalid value for key token-id';
    if (this.expired(dataOf(secret, 'expiration'))) return 'has expired';
    if (dataOf(secret, 'usage-bootstrap-authentication') !== 'true')
      return 'not marked usage-bootstrap-authentication=true';
    return undefined;
  }

  /** A time that cannot be parsed counts as expired. */
  private expired(expiration: string): boolean {
    if (expiration === '') return false;
    try {
      const { seconds } = parseTime(expiration);
      return seconds * 1000 <= this.options.clock.now();
    } catch (error) {
      if (error instanceof TimeError) return true;
      throw error;
    }
  }
}

/** Returns a value of a Secret; empty if there is none. */
export function dataOf(secret: KubeObject, key: string): string {
  return Buffer.from(stringAt(objectAt(secret, 'data'), key) ?? '', 'base64').toString('utf8');
}

function groupsOf(extra: string): readonly string[] | undefined {
  if (extra === '') return [DEFAULT_GROUP];
  const groups = extra.split(',');
  if (!groups.every((group) => EXTRA_GROUP.test(group))) return undefined;
  return [...new Set([DEFAULT_GROUP, ...groups])].sort();
}
