import { VIRTUAL_RESOURCES } from '../../../../admission/matching/match.js';
import { featureGates } from '../../../../util/feature-gates.js';
import { type JsonObject, objectAt, objectsOf, stringsOf } from '../../../../apimachinery/json/json.js';
import { emptyMembersOf } from '../../../../apimachinery/scheme/empty-members.js';
import { formatGroupResource, type KubeObject } from '../../../../apimachinery/meta/meta.js';
import { Age, tableOf } from '../../shared/table.js';
import type { ResourceType, Strategy } from '../../../rest/interfaces.js';
import { admissionStrategy } from './strategy.js';
import { admissionType } from './type.js';
import { validateConfiguration } from './webhook-validation.js';

const HTTPS_PORT = 443;
const TIMEOUT_SECONDS = 10;

function defaultWebhook(webhook: JsonObject): void {
  webhook['failurePolicy'] ??= 'Fail';
  webhook['matchPolicy'] ??= 'Equivalent';
  webhook['namespaceSelector'] ??= {};
  webhook['objectSelector'] ??= {};
  webhook['timeoutSeconds'] ??= TIMEOUT_SECONDS;
  for (const rule of objectsOf(webhook['rules'])) rule['scope'] ??= '*';
  const service = objectAt(objectAt(webhook, 'clientConfig'), 'service');
  if (service !== undefined) service['port'] ??= HTTPS_PORT;
}

export const defaultWebhooks = (configuration: KubeObject): void =>
  objectsOf(configuration['webhooks']).forEach(defaultWebhook);

export function defaultMutatingWebhooks(configuration: KubeObject): void {
  defaultWebhooks(configuration);
  for (const webhook of objectsOf(configuration['webhooks'])) webhook['reinvocationPolicy'] ??= 'Never';
}

/** Reports whether a webhook has an empty CA bundle. It is not stored, but it counts as a change of the webhook. */
const givesEmptyBundle = (object: KubeObject): boolean =>
  objectsOf(object['webhooks']).some((webhook) => {
    const config = objectAt(webhook, 'clientConfig');
    return config !== undefined && emptyMembersOf(config)?.['caBundle'] !== undefined;
  });

/** Returns a warning for each review that a rule names without wildcards: webhooks are not called for reviews. */
function virtualResourceWarnings(object: KubeObject): string[] {
  if (!featureGates.enabled('ExcludeAdmissionWebhookVirtualResources')) return [];
  return objectsOf(object['webhooks']).flatMap((webhook, i) =>
    objectsOf(webhook['rules']).flatMap((rule, j) => {
      const groups = stringsOf(rule['apiGroups']);
      const resources = stringsOf(rule['resources']);
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
  applyDefaults: (configuration: KubeObject) => void,
): ResourceType =>
  admissionType({
    resource,
    kind,
    strategy,
    table: tableOf(`apis/admissionregistration.k8s.io/v1/${resource}`, (object) => [
      object.metadata.name ?? '',
      objectsOf(object['webhooks']).length,
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
