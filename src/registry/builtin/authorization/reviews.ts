import type * as authorization from '../../../apimachinery/generated/authorization.js';
import { newBadRequest, newInvalid } from '../../../apimachinery/meta/errors.js';
import type { FieldError } from '../../../apimachinery/meta/field-error.js';
import type { JsonObject } from '../../../apimachinery/json/json.js';
import type { KubeObject, Scope } from '../../../apimachinery/meta/meta.js';
import type { UserInfo } from '../../../authentication/user/user.js';
import type { Authorizer, RuleResolver, RulesResult } from '../../../authorization/authorizer/interfaces.js';
import type { RequestContext } from '../../../request/context.js';
import { featureGates } from '../../../util/feature-gates.js';
import type { CreateOnlyType } from '../../rest/create-only.js';
import { reviewNames } from '../shared/review-names.js';
import { attributesFrom, userFrom } from './attributes.js';
import {
  validateLocalSubjectAccessReview,
  validateSelfSubjectAccessReview,
  validateSubjectAccessReview,
} from './validation.js';

const GROUP = 'authorization.k8s.io';

export interface AuthorizationReviewDependencies {
  /** The server's whole authorizer. */
  readonly authorizer: Authorizer;
  readonly ruleResolver: RuleResolver;
}

/** The review kinds of authorization.k8s.io/v1. */
export function authorizationReviews(dependencies: AuthorizationReviewDependencies): readonly CreateOnlyType[] {
  const { authorizer, ruleResolver } = dependencies;
  return [
    virtualType('LocalSubjectAccessReview', 'Namespaced', async (context, object, namespace) => {
      refuse(validateLocalSubjectAccessReview(object));
      if (namespace === '') throw newBadRequest('namespace is required on this type: ');
      if (namespace !== object.metadata.namespace) {
        throw newBadRequest(`spec.resourceAttributes.namespace must match namespace: ${namespace}`);
      }
      return review(object, userFrom(specOf(object)), authorizer, context.signal);
    }),
    virtualType('SelfSubjectAccessReview', 'Cluster', async (context, object) => {
      refuse(validateSelfSubjectAccessReview(object));
      return review(object, context.user, authorizer, context.signal);
    }),
    virtualType('SelfSubjectRulesReview', 'Cluster', (context, object) =>
      Promise.resolve(rulesReview(object, context.user, ruleResolver)),
    ),
    virtualType('SubjectAccessReview', 'Cluster', async (context, object) => {
      refuse(validateSubjectAccessReview(object));
      return review(object, userFrom(specOf(object)), authorizer, context.signal);
    }),
  ];
}

type Create = (context: RequestContext, object: KubeObject, namespace: string) => Promise<KubeObject>;

const virtualType = (kind: string, scope: Scope, create: Create): CreateOnlyType => ({
  ...reviewNames(GROUP, kind, scope),
  create: withoutSelectors(create),
});

/** Ignores the selectors of a review, and drops them from the response, if requests are authorized without selectors. */
function withoutSelectors(create: Create): Create {
  return (context, object, namespace) => {
    if (!featureGates.enabled('AuthorizeWithSelectors')) {
      const resource = specOf(object).resourceAttributes;
      delete resource?.fieldSelector;
      delete resource?.labelSelector;
    }
    return create(context, object, namespace);
  };
}

const specOf = (object: authorization.SubjectAccessReview): authorization.SubjectAccessReviewSpec => object.spec ?? {};

/** kube-apiserver names no kind in this error, because its internal objects have none. */
function refuse(errors: readonly FieldError[]): void {
  if (errors.length > 0) throw newInvalid({ group: GROUP, kind: '' }, '', errors);
}

async function review(
  object: KubeObject,
  user: UserInfo,
  authorizer: Authorizer,
  signal: AbortSignal,
): Promise<KubeObject> {
  const { attributes, selectorErrors } = attributesFrom(user, specOf(object));
  const { decision, reason, error } = await authorizer.authorize(attributes, signal);
  const evaluationError = [...(error === undefined ? [] : [error]), ...selectorErrors].join('; ');
  object['status'] = {
    allowed: decision === 'allow',
    ...(decision === 'deny' && { denied: true }),
    ...(reason !== '' && { reason }),
    ...(evaluationError !== '' && { evaluationError }),
  };
  return object;
}

/** Returns a new object, without metadata and spec of the review. */
function rulesReview(object: authorization.SelfSubjectRulesReview, user: UserInfo, resolver: RuleResolver): KubeObject {
  const namespace = object.spec?.namespace ?? '';
  if (namespace === '') throw newBadRequest('no namespace on request');
  return {
    kind: 'SelfSubjectRulesReview',
    apiVersion: `${GROUP}/v1`,
    metadata: {},
    spec: {},
    status: rulesStatus(resolver.rulesFor(user, namespace)),
  };
}

/** Returns the status of a review; `kubectl auth can-i --list` prints it. */
function rulesStatus({ resourceRules, nonResourceRules, incomplete, error }: RulesResult): JsonObject {
  return {
    resourceRules: resourceRules.map(({ verbs, apiGroups, resources, resourceNames }) => ({
      verbs: [...verbs],
      ...(apiGroups.length > 0 && { apiGroups: [...apiGroups] }),
      ...(resources.length > 0 && { resources: [...resources] }),
      ...(resourceNames.length > 0 && { resourceNames: [...resourceNames] }),
    })),
    nonResourceRules: nonResourceRules.map(({ verbs, nonResourceURLs }) => ({
      verbs: [...verbs],
      ...(nonResourceURLs.length > 0 && { nonResourceURLs: [...nonResourceURLs] }),
    })),
    incomplete,
    ...(error !== '' && { evaluationError: error }),
  };
}
