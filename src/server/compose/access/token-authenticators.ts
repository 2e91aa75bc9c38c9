import type { KubeObject } from '../../../apimachinery/meta/meta.js';
import type { TokenAuthenticator } from '../../../authentication/authenticator/interfaces.js';
import { UnionTokenAuthenticator } from '../../../authentication/request/union.js';
import { BootstrapTokenAuthenticator } from '../../../authentication/token/bootstrap.js';
import { TokenCache } from '../../../authentication/token/token-cache.js';
import { TokenFileAuthenticator } from '../../../authentication/token/token-file.js';
import { TOKEN_REVIEW_TIMEOUT_MILLIS, WebhookTokenAuthenticator } from '../../../authentication/token/webhook.js';
import type { HttpsTransport } from '../../../client/webhook/transport.js';
import type { Clock } from '../../../util/clock.js';
import { messageOf } from '../../../util/error-message.js';
import type { Logger } from '../../../util/logger.js';
import { readFile, StartError } from '../../certificates/data-directory.js';
import type { Options } from '../../options/options.js';
import type { ServiceAccountTokens } from './service-account-tokens.js';
import { connectWebhook } from './webhook-connection.js';

const BOOTSTRAP_NAMESPACE = 'kube-system';

interface Context {
  readonly clock: Clock;
  readonly logger: Logger;
}

/** Returns the union of all token authenticators, those without remote calls first. Throws StartError if a file cannot be used. */
export async function makeTokenAuthenticator(
  options: Options,
  accounts: ServiceAccountTokens,
  /** The authenticator for tokens of OpenID providers. */
  oidc: TokenAuthenticator | undefined,
  context: Context,
): Promise<TokenAuthenticator> {
  const { clock, logger } = context;
  const tokens: TokenAuthenticator[] = [];
  if (options.tokenAuthFile !== '') tokens.push(fromTokenFile(options.tokenAuthFile, logger));
  tokens.push(accounts.authenticator);
  if (options.enableBootstrapTokenAuth) {
    const secret = (name: string): KubeObject | undefined =>
      accounts.objects.cached('secrets', BOOTSTRAP_NAMESPACE, name);
    const refused = (text: string): void => logger.v(3, text);
    tokens.push(new BootstrapTokenAuthenticator({ secret, clock, refused }));
  }
  if (oidc !== undefined) tokens.push(oidc);
  if (options.authenticationTokenWebhookConfigFile !== '') {
    tokens.push(await webhook(options, accounts.apiAudiences, context));
  }
  return new UnionTokenAuthenticator(tokens);
}

function fromTokenFile(path: string, logger: Logger): TokenFileAuthenticator {
  const warn = (text: string): void => logger.warn(text);
  try {
    return new TokenFileAuthenticator(readFile(path, '--token-auth-file'), path, warn);
  } catch (error) {
    if (error instanceof StartError) throw error;
    throw new StartError(`--token-auth-file: ${messageOf(error)}`);
  }
}

async function webhook(
  options: Options,
  audiences: readonly string[],
  { clock, logger }: Context,
): Promise<TokenAuthenticator> {
  const path = options.authenticationTokenWebhookConfigFile;
  const ttl = options.authenticationTokenWebhookCacheTtl;
  let transport: HttpsTransport;
  try {
    transport = await connectWebhook(path, clock, 'any', TOKEN_REVIEW_TIMEOUT_MILLIS);
  } catch (error) {
    throw new StartError(`--authentication-token-webhook-config-file: ${path} cannot be used: ${messageOf(error)}`);
  }
  const inner = new WebhookTokenAuthenticator({
    version: options.authenticationTokenWebhookVersion === 'v1' ? 'v1' : 'v1beta1',
    audiences,
    transport,
    clock,
    random: Math.random,
    failed: (text) => logger.error('authentication webhook failed', { error: text }),
  });
  return new TokenCache(inner, { successTtl: ttl, failureTtl: ttl, clock });
}
