import type { Configuration } from './type.js';
import type { MutatingWebhook } from '../../../../apimachinery/generated/admissionregistration.js';
import { type FieldError, FieldPath, invalid, required } from '../../../../apimachinery/meta/field-error.js';
import { deepEqual } from '../../../../apimachinery/json/json.js';
import { validateLabelSelector } from '../../../../apimachinery/selectors/label-selector-object.js';
import { isDns1123Subdomain, nameIsDnsSubdomain } from '../../../../apimachinery/validation/names.js';
import { validateObjectMeta, validateObjectMetaUpdate } from '../../../../apimachinery/validation/object-meta.js';
import {
  recognizedVersionErrors,
  REVIEW_VERSIONS,
  validateUrlOrService,
  validateVersionNames,
} from '../../shared/webhook-client.js';
import { choiceIfSet, eachErrors, fieldErrors, itemErrors, noDuplicates, oneOf } from '../../shared/checks.js';
import { conditionExpressions, validateMatchConditions } from './match-conditions.js';
import { validateRuleWithOperations } from './rules.js';

/** A webhook of either kind. Validating ones have no reinvocationPolicy. */
type Webhook = MutatingWebhook;

const SIDE_EFFECTS = ['None', 'NoneOnDryRun'];
const MAX_TIMEOUT_SECONDS = 30;

/** Validates a webhook configuration of either kind. */
export function validateConfiguration(object: Configuration, old: Configuration | undefined): FieldError[] {
  const { metadata } = object;
  const errors = [
    ...(old === undefined ? [] : validateObjectMetaUpdate(metadata, old.metadata)),
    ...validateObjectMeta(metadata, 'Cluster', nameIsDnsSubdomain),
  ];
  const before: readonly Webhook[] = old?.webhooks ?? [];
  const known = new Set(before.flatMap((webhook) => conditionExpressions(webhook.matchConditions)));
  const webhooks: readonly Webhook[] = object.webhooks ?? [];
  const checkConditions = old === undefined || !sameConditions(webhooks, before);
  const again = noDuplicates();
  const faults = eachErrors(webhooks, FieldPath.of('webhooks'), (webhook, path) => {
    const name = webhook.name ?? '';
    const conditions = path.child('matchConditions');
    return [
      ...validateWebhook(webhook, path),
      ...(checkConditions
        ? validateMatchConditions(webhook.matchConditions, conditions, { params: false, known })
        : []),
      ...validateReviewVersions(webhook.admissionReviewVersions ?? [], path),
      ...(name === '' ? [] : again(name, path.child('name'))),
    ];
  });
  return [...errors, ...faults];
}

/**
 * Reports whether the match conditions are unchanged. Accepted conditions are not validated again, because the environment of
 * another version may lack what they use.
 */
const sameConditions = (webhooks: readonly Webhook[], before: readonly Webhook[]): boolean =>
  webhooks.length === before.length &&
  webhooks.every((webhook, i) => deepEqual(webhook.matchConditions, before[i]?.matchConditions));

function validateWebhook(webhook: Webhook, path: FieldPath): FieldError[] {
  const { sideEffects, timeoutSeconds } = webhook;
  const errors = [
    ...fullyQualifiedNameErrors(webhook.name ?? '', path.child('name')),
    ...itemErrors(webhook, 'rules', path, validateRuleWithOperations),
    ...fieldErrors(webhook, path, {
      failurePolicy: oneOf('Fail', 'Ignore'),
      matchPolicy: oneOf('Equivalent', 'Exact'),
    }),
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
    ...fieldErrors(webhook, path, {
      namespaceSelector: validateLabelSelector,
      objectSelector: validateLabelSelector,
      reinvocationPolicy: oneOf('IfNeeded', 'Never'),
    }),
    // The caBundle is not validated: kube-apiserver only notices an invalid one when it calls the webhook.
    ...validateUrlOrService(webhook.clientConfig ?? {}, path.child('clientConfig')),
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
