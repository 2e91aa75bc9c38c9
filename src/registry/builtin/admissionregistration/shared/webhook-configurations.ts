import { type JsonObject, objectAt, objectsOf } from '../../../../apimachinery/json/json.js';
import { emptyMembersOf } from '../../../../apimachinery/scheme/empty-members.js';
import type { KubeObject } from '../../../../apimachinery/meta/meta.js';
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

/** Reports whether a webhook has an empty CA bundle. It is not stored, but it counts as a change of the webhook. */
const givesEmptyBundle = (object: KubeObject): boolean =>
  objectsOf(object['webhooks']).some((webhook) => {
    const config = objectAt(webhook, 'clientConfig');
    return config !== undefined && emptyMembersOf(config)?.['caBundle'] !== undefined;
  });

const strategy: Strategy = {
  ...admissionStrategy(validateConfiguration),
  prepareForUpdate: (_context, object, old) => {
    if (givesEmptyBundle(object)) object.metadata.generation = (old.metadata.generation ?? 0) + 1;
  },
};

/** Returns a type of webhook configurations. */
const webhookConfigurations = (
  resource: string,
  kind: string,
  applyDefaultsTo: (webhook: JsonObject) => void,
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
    applyDefaults: (object) => objectsOf(object['webhooks']).forEach(applyDefaultsTo),
  });

export const validatingWebhookConfigurations = webhookConfigurations(
  'validatingwebhookconfigurations',
  'ValidatingWebhookConfiguration',
  defaultWebhook,
);

export const mutatingWebhookConfigurations = webhookConfigurations(
  'mutatingwebhookconfigurations',
  'MutatingWebhookConfiguration',
  (webhook) => {
    defaultWebhook(webhook);
    webhook['reinvocationPolicy'] ??= 'Never';
  },
);
