import { type FieldError, FieldPath } from '../../../../apimachinery/meta/field-error.js';
import { objectAt, textAt } from '../../../../apimachinery/json/json.js';
import type { KubeObject } from '../../../../apimachinery/meta/meta.js';
import { subdomainErrors } from '../../../../apimachinery/validation/name-errors.js';
import { nameIsDnsSubdomain } from '../../../../apimachinery/validation/names.js';
import { validateObjectMeta } from '../../../../apimachinery/validation/object-meta.js';
import { requiredOr } from '../../shared/checks.js';
import { defaultMatchResources, validateMatchResources } from './match-resources.js';
import { validateParamRef } from './param-ref.js';

export function defaultBinding(binding: KubeObject): void {
  defaultMatchResources(objectAt(objectAt(binding, 'spec'), 'matchResources'));
}

/** Validates what the bindings of both kinds of policies have in common. */
export function validateCommonBinding(binding: KubeObject): FieldError[] {
  const spec = objectAt(binding, 'spec') ?? {};
  const path = FieldPath.of('spec');

  return [
    ...validateObjectMeta(binding.metadata, 'Cluster', nameIsDnsSubdomain),
    ...requiredOr(textAt(spec, 'policyName'), path.child('policyName'), subdomainErrors),
    ...validateParamRef(objectAt(spec, 'paramRef'), path.child('paramRef')),
    ...validateMatchResources(objectAt(spec, 'matchResources'), path.child('matchResources')),
  ];
}
