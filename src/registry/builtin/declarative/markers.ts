import type { FieldErrorType } from '../../../apimachinery/meta/field-error.js';

/** A rule that a field's schema states, instead of a function that validates the whole object. */
export interface Marker {
  /** The names of members; `*` stands for each item of a list. */
  readonly path: readonly string[];
  readonly rule: Rule;
  /** Rules of stage beta are enforced while DeclarativeValidationBeta is on; those of stage alpha are only compared. */
  readonly stage: 'alpha' | 'beta';
}

type Rule =
  | { readonly name: 'required' }
  /** At most one item of a list of conditions has one of these types. */
  | { readonly name: 'zeroOrOneOf'; readonly types: readonly string[] };

/** The type of the errors that a rule reports. */
export const ERROR_OF: Readonly<Record<Rule['name'], FieldErrorType>> = {
  required: 'FieldValueRequired',
  zeroOrOneOf: 'FieldValueInvalid',
};

const required = (...path: string[]): Marker => ({ path, rule: { name: 'required' }, stage: 'beta' });

const ROLE = [required('rules', '*', 'verbs')];
const BINDING = [required('subjects', '*', 'name'), required('roleRef', 'name')];

/**
 * The markers of the types that Kubernetes 1.37 validates declaratively and that Annex serves, by `<resource>.<group>`. There, all
 * of them are of stage beta. They also apply to subresources.
 */
export const MARKERS: Readonly<Record<string, readonly Marker[]>> = {
  'clusterroles.rbac.authorization.k8s.io': ROLE,
  'roles.rbac.authorization.k8s.io': ROLE,
  'clusterrolebindings.rbac.authorization.k8s.io': BINDING,
  'rolebindings.rbac.authorization.k8s.io': BINDING,
  'certificatesigningrequests.certificates.k8s.io': [
    { path: ['status', 'conditions'], rule: { name: 'zeroOrOneOf', types: ['Approved', 'Denied'] }, stage: 'beta' },
  ],
  'validatingadmissionpolicybindings.admissionregistration.k8s.io': [
    required('spec', 'policyName'),
    required('spec', 'validationActions'),
  ],
};
