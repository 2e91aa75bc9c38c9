import { quoteList } from '../../apimachinery/meta/meta.js';
import { AUTHORIZER_TYPES, type AuthorizationConfiguration } from './types.js';

/** The authorization flags. Durations are in milliseconds. */
export interface AuthorizationOptions {
  /** `--authorization-mode`. */
  readonly modes: readonly string[];
  /** `--authorization-config`; '' if it is not set. */
  readonly configFile: string;
  /** `--authorization-policy-file`, for the mode ABAC. */
  readonly policyFile: string;
  /** `--authorization-webhook-config-file` and the related flags. */
  readonly webhookConfigFile: string;
  readonly webhookVersion: string;
  readonly webhookCacheAuthorizedTtl: number;
  readonly webhookCacheUnauthorizedTtl: number;
  /** True if the mode flag or a webhook flag is set on the command line. */
  readonly legacyFlagsSet: boolean;
}

const WEBHOOK_TIMEOUT = 30_000;

/** Returns the errors of the flags, in kube-apiserver's words. Does not read the configuration file. */
export function validateOptions(options: AuthorizationOptions): string[] {
  if (options.configFile !== '') {
    return options.legacyFlagsSet
      ? [
          '--authorization-config can not be specified when --authorization-mode or --authorization-webhook-* flags are defined',
        ]
      : [];
  }
  const { modes, policyFile, webhookConfigFile, webhookVersion } = options;
  const errors: string[] = [];
  if (modes.length === 0) errors.push('at least one authorization-mode must be passed');
  for (const mode of modes) {
    if (!AUTHORIZER_TYPES.some((type) => type === mode))
      errors.push(`authorization-mode "${mode}" is not a valid mode`);
    if (mode === 'ABAC' && policyFile === '') {
      errors.push("authorization-mode ABAC's authorization policy file not passed");
    }
    if (mode === 'Webhook' && webhookConfigFile === '') {
      errors.push("authorization-mode Webhook's authorization config file not passed");
    }
  }
  if (policyFile !== '' && !modes.includes('ABAC')) {
    errors.push('cannot specify --authorization-policy-file without mode ABAC');
  }
  if (webhookConfigFile !== '' && !modes.includes('Webhook')) {
    errors.push('cannot specify --authorization-webhook-config-file without mode Webhook');
  }
  if (new Set(modes).size !== modes.length) {
    errors.push(`authorization-mode ${quoteList(modes)} has mode specified more than once`);
  }
  if (modes.includes('Webhook') && webhookVersion !== 'v1' && webhookVersion !== 'v1beta1') {
    errors.push(`unsupported webhook authorizer version "${webhookVersion}", supported versions are "v1", "v1beta1"`);
  }
  return errors;
}

/** Returns the configuration that the mode flags correspond to. */
export function configurationFromModes(options: AuthorizationOptions): AuthorizationConfiguration {
  return {
    authorizers: options.modes.map((mode) => {
      if (mode !== 'Webhook') return { type: mode, name: mode.toLowerCase(), webhook: undefined };
      return {
        type: mode,
        name: 'default',
        webhook: {
          authorizedTTL: options.webhookCacheAuthorizedTtl,
          cacheAuthorizedRequests: options.webhookCacheAuthorizedTtl !== 0,
          unauthorizedTTL: options.webhookCacheUnauthorizedTtl,
          cacheUnauthorizedRequests: options.webhookCacheUnauthorizedTtl !== 0,
          timeout: WEBHOOK_TIMEOUT,
          subjectAccessReviewVersion: options.webhookVersion,
          matchConditionSubjectAccessReviewVersion: '',
          failurePolicy: 'NoOpinion',
          connectionInfo: { type: 'KubeConfigFile', kubeConfigFile: options.webhookConfigFile },
          matchConditions: [],
        },
      };
    }),
  };
}
