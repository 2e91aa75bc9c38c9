import type { Binding, BindingSpec } from './type.js';
import { type FieldError, FieldPath } from '../../../../apimachinery/meta/field-error.js';
import { subdomainErrors } from '../../../../apimachinery/validation/name-errors.js';
import { nameIsDnsSubdomain } from '../../../../apimachinery/validation/names.js';
import { validateObjectMeta } from '../../../../apimachinery/validation/object-meta.js';
import { fieldErrors, needed } from '../../shared/checks.js';
import { defaultMatchResources, validateMatchResources } from './match-resources.js';
import { validateParamRef } from './param-ref.js';

export function defaultBinding(binding: Binding): void {
  defaultMatchResources(binding.spec?.matchResources);
}

/** Validates what the bindings of both kinds of policies have in common. */
export function validateCommonBinding(binding: Binding): FieldError[] {
  const spec: BindingSpec = binding.spec ?? {};
  return [
    ...validateObjectMeta(binding.metadata, 'Cluster', nameIsDnsSubdomain),
    ...fieldErrors(spec, FieldPath.of('spec'), {
      policyName: needed(subdomainErrors),
      paramRef: validateParamRef,
      matchResources: validateMatchResources,
    }),
  ];
}
