import { LOOPBACK_USER } from '../authentication/user/user.js';
import type { Authorizer } from '../authorization/authorizer/interfaces.js';
import { deepEqual } from '../apimachinery/json/json.js';
import { authorizeList } from './authorize-list.js';
import type { AdmissionAttributes, AdmissionPlugin } from '../admission/interfaces.js';
import { newInvalid } from '../apimachinery/meta/errors.js';
import type { FieldError } from '../apimachinery/meta/field-error.js';
import { VIEWS } from '../registry/builtin/kubeannex/views.js';
import type { ApiRegistry } from '../registry/generic/store/api-registry.js';
import { sourceOf } from './sources.js';
import { readView, structureErrors, ViewPlan } from './view-plan.js';

/**
 * Refuses views whose expressions do not fit their source, if that is served, and those of users who may not list the source: a view shows it to
 * everyone who may read the rows.
 */
export const viewValidation = (registry: ApiRegistry, authorizer: Authorizer): AdmissionPlugin => ({
  name: 'ViewValidation',
  handles: (operation) => operation === 'CREATE' || operation === 'UPDATE',
  readsObjects: ({ group, resource }) => group === VIEWS.group && resource === VIEWS.resource,
  validate(attributes) {
    const { resource, subresource } = attributes;
    const isView = resource.group === VIEWS.group && resource.resource === VIEWS.resource && subresource === '';
    return isView ? check(attributes, registry, authorizer) : undefined;
  },
});

async function check(
  { object, oldObject, user, signal }: AdmissionAttributes,
  registry: ApiRegistry,
  authorizer: Authorizer,
): Promise<void> {
  if (object === undefined || (oldObject !== undefined && deepEqual(object['spec'], oldObject['spec']))) return;
  const view = readView(object);
  if (user !== LOOPBACK_USER) await authorizeList(authorizer, { user, signal: signal() }, view.source, '');
  const errors: FieldError[] = structureErrors(view);
  const source = sourceOf(registry, view.source);
  if (errors.length === 0 && source !== undefined) ViewPlan.compile(view, source.served, errors);
  if (errors.length > 0) throw newInvalid({ group: VIEWS.group, kind: 'View' }, object.metadata.name ?? '', errors);
}
