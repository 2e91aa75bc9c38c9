import { type FieldError, FieldPath, invalid, required } from '../../../../apimachinery/meta/field-error.js';
import {
  deepEqual,
  type JsonObject,
  objectAt,
  objectsOf,
  stringsOf,
  textAt,
} from '../../../../apimachinery/json/json.js';
import { validateLabelSelector } from '../../../../apimachinery/selectors/label-selector-object.js';
import type { KubeObject } from '../../../../apimachinery/meta/meta.js';
import { isDns1123Subdomain, nameIsDnsSubdomain } from '../../../../apimachinery/validation/names.js';
import { validateObjectMeta, validateObjectMetaUpdate } from '../../../../apimachinery/validation/object-meta.js';
import {
  recognizedVersionErrors,
  REVIEW_VERSIONS,
  validateUrlOrService,
  validateVersionNames,
} from '../../shared/webhook-client.js';
import { choiceIfSet, eachErrors, itemErrors, noDuplicates } from '../../shared/checks.js';
import { conditionExpressions, validateMatchConditions } from './match-conditions.js';
import { validateRuleWithOperations } from './rules.js';

const FAILURE_POLICIES = ['Fail', 'Ignore'];
const MATCH_POLICIES = ['Equivalent', 'Exact'];
const REINVOCATION_POLICIES = ['IfNeeded', 'Never'];
const SIDE_EFFECTS = ['None', 'NoneOnDryRun'];
const MAX_TIMEOUT_SECONDS = 30;

/** Validates a webhook configuration of either kind. */
export function validateConfiguration(object: KubeObject, old: KubeObject | undefined): FieldError[] {
  const { metadata } = object;
  const errors = [
    ...(old === undefined ? [] : validateObjectMetaUpdate(metadata, old.metadata)),
    ...validateObjectMeta(metadata, 'Cluster', nameIsDnsSubdomain),
  ];
  const before = objectsOf(old?.['webhooks']);
  const known = new Set(before.flatMap((webhook) => conditionExpressions(webhook['matchConditions'])));
  const webhooks = objectsOf(object['webhooks']);
  const checkConditions = old === undefined || !sameConditions(webhooks, before);
  const again = noDuplicates();
  const faults = eachErrors(webhooks, FieldPath.of('webhooks'), (webhook, path) => {
    const name = textAt(webhook, 'name');
    const conditions = path.child('matchConditions');
    return [
      ...validateWebhook(webhook, path),
      ...(checkConditions
        ? validateMatchConditions(webhook['matchConditions'], conditions, { params: false, known })
        : []),
      ...validateReviewVersions(stringsOf(webhook['admissionReviewVersions']), path),
      ...(name === '' ? [] : again(name, path.child('name'))),
    ];
  });
  return [...errors, ...faults];
}

/**
 * Reports whether the match conditions are unchanged. Accepted conditions are not validated again, because the environment of
 * another version may lack what they use.
 */
const sameConditions = (webhooks: readonly JsonObject[], before: readonly JsonObject[]): boolean =>
  webhooks.length === before.length &&
  webhooks.every((webhook, i) => deepEqual(webhook['matchConditions'], before[i]?.['matchConditions']));

function validateWebhook(webhook: JsonObject, path: FieldPath): FieldError[] {
  const { failurePolicy, matchPolicy, sideEffects, timeoutSeconds, reinvocationPolicy } = webhook;
  const errors = [
    ...fullyQualifiedNameErrors(textAt(webhook, 'name'), path.child('name')),
    ...itemErrors(webhook, 'rules', path, validateRuleWithOperations),
    ...choiceIfSet(failurePolicy, path.child('failurePolicy'), FAILURE_POLICIES),
    ...choiceIfSet(matchPolicy, path.child('matchPolicy'), MATCH_POLICIES),
  ];
  if (typeof sideEffects !== 'string') {
    errors.push(required(path.child('sideEffects'), `must specify one of ${SIDE_EFFECTS.join(', ')}`));
  }
  errors.push(...choiceIfSet(sideEffects, path.child('sideEffects'), SIDE_EFFECTS));
  if (typeof timeoutSeconds === 'number' && (timeoutSeconds > MAX_TIMEOUT_SECONDS || timeoutSeconds < 1)) {
    const why = 'the timeout value must be between 1 and 30 seconds';
    errors.push(invalid(path.child('timeoutSeconds'), timeoutSeconds, why));
  }
  return [
    ...errors,
    ...validateLabelSelector(objectAt(webhook, 'namespaceSelector'), path.child('namespaceSelector')),
    ...validateLabelSelector(objectAt(webhook, 'objectSelector'), path.child('objectSelector')),
    ...choiceIfSet(reinvocationPolicy, path.child('reinvocationPolicy'), REINVOCATION_POLICIES),
    // The caBundle is not validated: kube-apiserver only notices an invalid one when it calls the webhook.
    ...validateUrlOrService(objectAt(webhook, 'clientConfig') ?? {}, path.child('clientConfig')),
  ];
}

/** Validates a name of at least three labels separated by dots. */
function fullyQualifiedNameErrors(name: string, path: FieldPath): FieldError[] {
  if (name === '') return [required(path)];
  const faults = isDns1123Subdomain(name);
  if (faults.length > 0) return [invalid(path, name, faults.join(','))];
  if (name.split('.').length < 3) {
    return [invalid(path, name, 'should be a domain with at least three segments separated by dots')];
  }
  return [];
}

function validateReviewVersions(versions: readonly string[], webhook: FieldPath): FieldError[] {
  const path = webhook.child('admissionReviewVersions');
  if (versions.length === 0) return [required(path, `must specify one of ${REVIEW_VERSIONS.join(', ')}`)];
  return [...validateVersionNames(versions, path), ...recognizedVersionErrors(versions, path)];
}
