import { type Convert, type Row } from '../conversion.js';
import { objectIn, rename } from '../fields.js';

const GROUP = 'authorization.k8s.io';

const groups: Convert = (object) => {
  const spec = objectIn(object, 'spec', '');
  if (spec !== undefined) rename(spec, 'group', 'groups', 'spec');
};

const from = [`${GROUP}/v1beta1`];
const to = `${GROUP}/v1`;

export const authorization: readonly Row[] = [
  { from, kinds: ['SubjectAccessReview', 'LocalSubjectAccessReview'], to, convert: groups },
  { from, kinds: ['SelfSubjectAccessReview', 'SelfSubjectRulesReview'], to },
];
