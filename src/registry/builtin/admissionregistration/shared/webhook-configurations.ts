import type {
  MutatingWebhook,
  MutatingWebhookConfiguration,
} from '../../../../apimachinery/generated/admissionregistration.js';
import { VIRTUAL_RESOURCES } from '../../../../admission/matching/match.js';
import { featureGates } from '../../../../util/feature-gates.js';
import { emptyMembersOf } from '../../../../apimachinery/scheme/empty-members.js';
import { formatGroupResource } from '../../../../apimachinery/meta/meta.js';
import { Age, tableOf } from '../../shared/table.js';
import type { ResourceType, Strategy } from '../../../rest/interfaces.js';
import { admissionStrategy } from './strategy.js';
import { admissionType, type Configuration } from './type.js';
import { validateConfiguration } from './webhook-validation.js';

const HTTPS_PORT = 443;
const TIMEOUT_SECONDS = 10;

function defaultWebhook(webhook: MutatingWebhook): void {
  webhook.failurePolicy ??= 'Fail';
  webhook.matchPolicy ??= 'Equivalent';
  webhook.namespaceSelector ??= {};
  webhook.objectSelector ??= {};
  webhook.timeoutSeconds ??= TIMEOUT_SECONDS;
  for (const rule of webhook.rules ?? []) rule.scope ??= '*';
  const service = webhook.clientConfig?.service;
  if (service !== undefined) service.port ??= HTTPS_PORT;
}

export const defaultWebhooks = ({ webhooks }: Configuration): void => webhooks?.forEach(defaultWebhook);

export function defaultMutatingWebhooks(configuration: MutatingWebhookConfiguration): void {
  defaultWebhooks(configuration);
  for (const webhook of configuration.webhooks ?? []) webhook.reinvocationPolicy ??= 'Never';
}

/** Reports whether a webhook has an empty CA bundle. It is not stored, but it counts as a change of the webhook. */
const givesEmptyBundle = (object: Configuration): boolean =>
  (object.webhooks ?? []).some((webhook: MutatingWebhook) => {
    const config = webhook.clientConfig;
    return config !== undefined && emptyMembersOf(config)?.['caBundle'] !== undefined;
  });

/** Returns a warning for each review that a rule names without wildcards: webhooks are not called for reviews. */
function virtualResourceWarnings(object: Configuration): string[] {
  if (!featureGates.enabled('ExcludeAdmissionWebhookVirtualResources')) return [];
  return (object.webhooks ?? []).flatMap((webhook: MutatingWebhook, i) =>
    (webhook.rules ?? []).flatMap((rule, j) => {
      const groups = rule.apiGroups ?? [];
      const resources = rule.resources ?? [];
      if (groups.includes('*') || resources.includes('*')) return [];
      const named = groups.flatMap((group) => resources.map((resource) => ({ group, resource })));
      const reviews = named.filter(({ group, resource }) => VIRTUAL_RESOURCES.has(`${group}/${resource}`));
      return [...new Set(reviews.map(formatGroupResource))].map(
        (name) =>
          `webhooks[${i}].rules[${j}]: ${name} is excluded from admission webhooks; this rule will have no effect`,
      );
    }),
  );
}

const base = admissionStrategy(validateConfiguration);

const strategy: Strategy = {
  ...base,
  warningsOnCreate: (context, object) => [
    ...(base.warningsOnCreate?.(context, object) ?? []),
    ...virtualResourceWarnings(object),
  ],
  warningsOnUpdate: (context, object, old) => [
    ...(base.warningsOnUpdate?.(context, object, old) ?? []),
    ...virtualResourceWarnings(object),
  ],
  prepareForUpdate: (_context, object, old) => {
    if (givesEmptyBundle(object)) object.metadata.generation = (old.metadata.generation ?? 0) + 1;
  },
};

/** Returns a type of webhook configurations. */
const webhookConfigurations = (
  resource: string,
  kind: string,
  applyDefaults: (configuration: Configuration) => void,
): ResourceType =>
  admissionType({
    resource,
    kind,
    strategy,
    table: tableOf(`apis/admissionregistration.k8s.io/v1/${resource}`, (object: Configuration) => [
      object.metadata.name ?? '',
      (object.webhooks ?? []).length,
      Age.of(object),
    ]),
    applyDefaults,
  });

export const validatingWebhookConfigurations = webhookConfigurations(
  'validatingwebhookconfigurations',
  'ValidatingWebhookConfiguration',
  defaultWebhooks,
);

export const mutatingWebhookConfigurations = webhookConfigurations(
  'mutatingwebhookconfigurations',
  'MutatingWebhookConfiguration',
  defaultMutatingWebhooks,
);
