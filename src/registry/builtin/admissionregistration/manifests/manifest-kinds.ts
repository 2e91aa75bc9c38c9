import type { FieldError } from '../../../../apimachinery/meta/field-error.js';
import type { KubeObject } from '../../../../apimachinery/meta/meta.js';
import { validatePolicy as validateMutatingPolicy } from '../mutatingadmissionpolicies/validation.js';
import { validateMutatingBinding } from '../mutatingadmissionpolicybindings/type.js';
import { defaultBinding } from '../shared/binding.js';
import { defaultPolicy } from '../shared/policy-spec.js';
import { defaultMutatingWebhooks, defaultWebhooks } from '../shared/webhook-configurations.js';
import { validateConfiguration } from '../shared/webhook-validation.js';
import { validatePolicy } from '../validatingadmissionpolicies/validation.js';
import { validateValidatingBinding } from '../validatingadmissionpolicybindings/type.js';

/** A plugin whose configurations may be in files. */
export type ManifestPlugin =
  'MutatingAdmissionPolicy' | 'MutatingAdmissionWebhook' | 'ValidatingAdmissionPolicy' | 'ValidatingAdmissionWebhook';

/** How a kind in files is completed and checked: as a new object of the API is, except that its name is reserved for files. */
interface ManifestKind {
  readonly applyDefaults: (object: KubeObject) => void;
  readonly validate: (object: KubeObject, old: undefined) => readonly FieldError[];
}

export const MANIFEST_KINDS: Readonly<Record<ManifestPlugin, ReadonlyMap<string, ManifestKind>>> = {
  ValidatingAdmissionPolicy: new Map([
    ['ValidatingAdmissionPolicy', { applyDefaults: defaultPolicy, validate: validatePolicy }],
    ['ValidatingAdmissionPolicyBinding', { applyDefaults: defaultBinding, validate: validateValidatingBinding }],
  ]),
  MutatingAdmissionPolicy: new Map([
    ['MutatingAdmissionPolicy', { applyDefaults: defaultPolicy, validate: validateMutatingPolicy }],
    ['MutatingAdmissionPolicyBinding', { applyDefaults: defaultBinding, validate: validateMutatingBinding }],
  ]),
  ValidatingAdmissionWebhook: new Map([
    ['ValidatingWebhookConfiguration', { applyDefaults: defaultWebhooks, validate: validateConfiguration }],
  ]),
  MutatingAdmissionWebhook: new Map([
    ['MutatingWebhookConfiguration', { applyDefaults: defaultMutatingWebhooks, validate: validateConfiguration }],
  ]),
};
