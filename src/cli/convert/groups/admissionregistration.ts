import type { JsonObject } from '../../../apimachinery/json/json.js';
import { type Convert, Refusal, type Row } from '../conversion.js';
import { isEmpty, makeExplicit, objectsIn, textIn } from '../fields.js';

const WITHOUT_EFFECTS = ['None', 'NoneOnDryRun'];

const configuration: Convert = (object) => {
  const names = new Set<string>();
  for (const [webhook, path] of objectsIn(object, 'webhooks', '')) {
    const name = textIn(webhook, 'name', path) ?? '';
    if (names.has(name)) throw new Refusal(`${path}.name: v1 does not allow two webhooks with the same name (${name})`);
    names.add(name);
    convertWebhook(webhook, path);
  }
};

function convertWebhook(webhook: JsonObject, path: string): void {
  const effects = textIn(webhook, 'sideEffects', path);
  if (effects === undefined || !WITHOUT_EFFECTS.includes(effects)) {
    const given = effects === undefined ? 'is missing, which meant Unknown' : `is ${effects}`;
    throw new Refusal(
      `${path}.sideEffects ${given}: v1 allows only None (the webhook changes nothing except the object) ` +
        'and NoneOnDryRun (it does so in dry runs): set the one that applies',
    );
  }
  makeExplicit(webhook, 'failurePolicy', 'Ignore');
  makeExplicit(webhook, 'matchPolicy', 'Exact');
  makeExplicit(webhook, 'timeoutSeconds', 30);
  if (isEmpty(webhook['admissionReviewVersions'])) webhook['admissionReviewVersions'] = ['v1beta1'];
}

const POLICIES = [
  'ValidatingAdmissionPolicy',
  'ValidatingAdmissionPolicyBinding',
  'MutatingAdmissionPolicy',
  'MutatingAdmissionPolicyBinding',
];
const V1 = 'admissionregistration.k8s.io/v1';

export const admissionregistration: readonly Row[] = [
  {
    from: ['admissionregistration.k8s.io/v1beta1'],
    kinds: ['MutatingWebhookConfiguration', 'ValidatingWebhookConfiguration'],
    to: V1,
    convert: configuration,
  },
  { from: ['admissionregistration.k8s.io/v1beta1', 'admissionregistration.k8s.io/v1alpha1'], kinds: POLICIES, to: V1 },
];
