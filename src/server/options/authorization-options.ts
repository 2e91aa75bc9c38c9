import { validateOptions, type AuthorizationOptions } from '../../authorization/config/options.js';
import { aggregateTexts } from '../../authorization/authorizer/results.js';
import { AUTHORIZER_TYPES } from '../../authorization/config/types.js';
import { duration, FlagError, flagsOf, type FlagValues, type GivenFlags, list, text } from './flags.js';

const flag = flagsOf('Authorization flags:');
const MINUTE = 60_000;
const DEFAULT_MODES = ['Node', 'RBAC'];

/** Authorization flags. */
export const AUTHORIZATION_FLAGS = {
  authorizationMode: flag(
    'authorization-mode',
    list,
    DEFAULT_MODES,
    `Authorizers in the order in which they are consulted: ${AUTHORIZER_TYPES.join(', ')}.`,
  ),
  authorizationConfig: flag(
    'authorization-config',
    text,
    '',
    'File with an AuthorizationConfiguration, reloaded when it changes and every minute. Mutually exclusive with --authorization-mode and --authorization-webhook-*.',
  ),
  authorizationPolicyFile: flag(
    'authorization-policy-file',
    text,
    '',
    'File with one policy per line, for --authorization-mode=ABAC.',
  ),
  authorizationWebhookConfigFile: flag(
    'authorization-webhook-config-file',
    text,
    '',
    'Kubeconfig file of the webhook for --authorization-mode=Webhook.',
  ),
  authorizationWebhookVersion: flag(
    'authorization-webhook-version',
    text,
    'v1beta1',
    'Version of the SubjectAccessReviews that are sent to the webhook: v1 or v1beta1.',
  ),
  authorizationWebhookCacheAuthorizedTtl: flag(
    'authorization-webhook-cache-authorized-ttl',
    duration,
    5 * MINUTE,
    'How long responses of the webhook that allow the request are cached. 0: no caching.',
  ),
  authorizationWebhookCacheUnauthorizedTtl: flag(
    'authorization-webhook-cache-unauthorized-ttl',
    duration,
    MINUTE / 2,
    'How long responses of the webhook that do not allow the request are cached. 0: no caching.',
  ),
} as const;

type Values = FlagValues<typeof AUTHORIZATION_FLAGS> & GivenFlags;

/** Returns the flags in the form that buildAuthorizer takes. */
export function authorizationOptions(options: Values): AuthorizationOptions {
  const legacyFlagsSet = [...options.given].some(
    (name) => name === 'authorization-mode' || name.startsWith('authorization-webhook-'),
  );
  return {
    modes: options.authorizationConfig === '' ? options.authorizationMode : [],
    configFile: options.authorizationConfig,
    policyFile: options.authorizationPolicyFile,
    webhookConfigFile: options.authorizationWebhookConfigFile,
    webhookVersion: options.authorizationWebhookVersion,
    webhookCacheAuthorizedTtl: options.authorizationWebhookCacheAuthorizedTtl,
    webhookCacheUnauthorizedTtl: options.authorizationWebhookCacheUnauthorizedTtl,
    legacyFlagsSet,
  };
}

/** Throws a FlagError that lists all errors, in kube-apiserver's words. */
export function validateAuthorizationOptions(options: Values): void {
  const errors = validateOptions(authorizationOptions(options));
  if (errors.length > 0) throw new FlagError(aggregateTexts(errors));
}
