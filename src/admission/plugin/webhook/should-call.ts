import { newForbidden } from '../../../apimachinery/meta/errors.js';
import type { Authorizer } from '../../../authorization/authorizer/interfaces.js';
import { authorizerValues } from '../../cel/authorizer.js';
import { admissionRequest } from '../../cel/request.js';
import type { AdmissionAttributes, VersionedResource } from '../../interfaces.js';
import { match } from '../../matching/match.js';
import type { Hook } from './hooks.js';
import type { ReviewedObjects } from './review.js';
import type { WebhookDependencies } from './caller.js';
import type { MaybePromise } from '../../../util/maybe-promise.js';

/** Returns the objects of the request in a version. */
export type ObjectsIn = (matched: VersionedResource) => MaybePromise<ReviewedObjects>;

/** Returns the resource and kind to call a webhook with; undefined if it does not match. Throws ApiError if matching fails. */
export function shouldCall(
  hook: Hook,
  attributes: AdmissionAttributes,
  objectsIn: ObjectsIn,
  { namespaces, authorizer }: WebhookDependencies,
): MaybePromise<VersionedResource | undefined> {
  const matched = match(hook.criteria, attributes, namespaces);
  if (!(matched instanceof Promise) && (matched === undefined || hook.conditions.empty)) return matched;
  return decide(hook, attributes, matched, objectsIn, authorizer);
}

async function decide(
  hook: Hook,
  attributes: AdmissionAttributes,
  matching: MaybePromise<VersionedResource | undefined>,
  objectsIn: ObjectsIn,
  authorizer: Authorizer,
): Promise<VersionedResource | undefined> {
  const matched = await matching;
  if (matched === undefined || hook.conditions.empty) return matched;
  const { object, oldObject } = await objectsIn(matched);
  const { operation, resource } = attributes;
  const result = await hook.conditions.match(
    {
      object,
      oldObject,
      request: () => admissionRequest(attributes, { kind: matched.kind, resource }),
      authorizer: () => authorizerValues(authorizer, attributes, attributes.signal()),
    },
    operation,
  );
  if (result.matches) return matched;
  if (result.error !== undefined) throw newForbidden(resource, attributes.name, result.error);
  hook.conditions.recordExclusion(operation);
  return undefined;
}
