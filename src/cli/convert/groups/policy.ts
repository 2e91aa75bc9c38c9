import { type Convert, type Dead, type Row } from '../conversion.js';
import { isEmpty, isUnset, objectIn, take } from '../fields.js';

const podDisruptionBudget: Convert = (object, notes) => {
  const spec = objectIn(object, 'spec', '');
  if (spec === undefined) return;
  const selector = objectIn(spec, 'selector', 'spec');
  if (selector === undefined || !Object.values(selector).every(isEmpty)) {
    if (isUnset(spec['selector'])) take(spec, 'selector');
    return;
  }
  take(spec, 'selector');
  notes.warn(
    'spec.selector is empty: it matched no pod in policy/v1beta1 and would match all pods of the namespace in policy/v1; ' +
      'it is dropped, so that it still matches none',
  );
};

export const policy: readonly Row[] = [
  { from: ['policy/v1beta1'], kinds: ['PodDisruptionBudget'], to: 'policy/v1', convert: podDisruptionBudget },
  { from: ['policy/v1beta1'], kinds: ['Eviction'], to: 'policy/v1' },
];

export const deadPolicy: readonly Dead[] = [
  {
    from: ['policy/v1beta1', 'extensions/v1beta1'],
    kinds: ['PodSecurityPolicy'],
    reason:
      'nothing replaces it: label the namespaces for Pod Security admission (pod-security.kubernetes.io/enforce) or use an admission policy',
  },
];
