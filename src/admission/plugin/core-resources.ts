import type { GroupResource } from '../../apimachinery/meta/meta.js';
import type { AdmissionAttributes } from '../interfaces.js';

/** Reports whether a resource is one of the core group. */
export const isCore = ({ group, resource }: GroupResource, plural: string): boolean =>
  group === '' && resource === plural;

/** Reports whether a request is about the objects of a core resource, not about a subresource. */
export const isAboutCore = ({ resource, subresource }: AdmissionAttributes, plural: string): boolean =>
  isCore(resource, plural) && subresource === '';
