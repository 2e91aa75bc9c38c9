import {
  duplicate,
  type FieldError,
  FieldPath,
  invalid,
  notSupported,
  required,
} from '../../../../apimachinery/meta/field-error.js';
import { deepEqual, type JsonObject, objectAt, stringAt } from '../../../../apimachinery/json/json.js';
import { objectsOf, stringsOf } from '../../../../apimachinery/json/values.js';
import { validateLabelSelector } from '../../../../apimachinery/selectors/label-selector-object.js';
import type { KubeObject } from '../../../../apimachinery/meta/meta.js';
import { isDns1035Label, isDns1123Subdomain, nameIsDnsSubdomain } from '../../../../apimachinery/validation/names.js';
import { validateObjectMeta, validateObjectMetaUpdate } from '../../../../apimachinery/validation/object-meta.js';
import {
  validateWebhookService,
  validateWebhookUrl,
} from '../../../apiextensions/customresourcedefinition/validation/webhook.js';
import { conditionExpressions, validateMatchConditions } from './match-conditions.js';
import { validateRuleWithOperations } from './rules.js';

const REVIEW_VERSIONS = ['v1', 'v1beta1'];
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
  const names = new Set<string>();
  webhooks.forEach((webhook, i) => {
    const path = FieldPath.of('webhooks').index(i);
    errors.push(...validateWebhook(webhook, path));
    if (checkConditions) {
      const at = path.child('matchConditions');
      errors.push(...validateMatchConditions(webhook['matchConditions'], at, { params: false, known }));
    }
    errors.push(...validateReviewVersions(stringsOf(webhook['admissionReviewVersions']), path));
    const name = stringAt(webhook, 'name') ?? '';
    if (name !== '' && names.has(name)) errors.push(duplicate(path.child('name'), name));
    names.add(name);
  });
  return errors;
}

/**
 * Reports whether the match conditions are unchanged. Accepted conditions are not validated again, because the environment of
 * another version may lack what they use.
 */
const sameConditions = (webhooks: readonly JsonObject[], before: readonly JsonObject[]): boolean =>
  webhooks.length === before.length &&
  webhooks.every((webhook, i) => deepEqual(webhook['matchConditions'], before[i]?.['matchConditions']));

function validateWebhook(webhook: JsonObject, path: FieldPath): FieldError[] {
  const errors = fullyQualifiedNameErrors(stringAt(webhook, 'name') ?? '', path.child('name'));
  objectsOf(webhook['rules']).forEach((rule, i) => {
    errors.push(...validateRuleWithOperations(rule, path.child('rules').index(i)));
  });
  errors.push(...oneOf(webhook, 'failurePolicy', FAILURE_POLICIES, path));
  errors.push(...oneOf(webhook, 'matchPolicy', MATCH_POLICIES, path));
  if (stringAt(webhook, 'sideEffects') === undefined) {
    errors.push(required(path.child('sideEffects'), `must specify one of ${SIDE_EFFECTS.join(', ')}`));
  }
  errors.push(...oneOf(webhook, 'sideEffects', SIDE_EFFECTS, path));
  const { timeoutSeconds } = webhook;
  if (typeof timeoutSeconds === 'number' && (timeoutSeconds > MAX_TIMEOUT_SECONDS || timeoutSeconds < 1)) {
    const why = 'the timeout value must be between 1 and 30 seconds';
    errors.push(invalid(path.child('timeoutSeconds'), timeoutSeconds, why));
  }
  errors.push(...validateLabelSelector(objectAt(webhook, 'namespaceSelector'), path.child('namespaceSelector')));
  errors.push(...validateLabelSelector(objectAt(webhook, 'objectSelector'), path.child('objectSelector')));
  errors.push(...oneOf(webhook, 'reinvocationPolicy', REINVOCATION_POLICIES, path));
  errors.push(...validateClientConfig(objectAt(webhook, 'clientConfig') ?? {}, path.child('clientConfig')));
  return errors;
}

function oneOf(webhook: JsonObject, field: string, supported: readonly string[], path: FieldPath): FieldError[] {
  const value = stringAt(webhook, field);
  return value === undefined || supported.includes(value) ? [] : [notSupported(path.child(field), value, supported)];
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

/** Validates the client configuration without its caBundle: kube-apiserver only notices an invalid one when it calls the webhook. */
function validateClientConfig(config: JsonObject, path: FieldPath): FieldError[] {
  const url = stringAt(config, 'url');
  const service = objectAt(config, 'service');
  if ((url === undefined) === (service === undefined)) {
    return [required(path, 'exactly one of url or service is required')];
  }
  if (url !== undefined) return validateWebhookUrl(path.child('url'), url);
  return validateWebhookService(path.child('service'), service ?? {});
}

function validateReviewVersions(versions: readonly string[], webhook: FieldPath): FieldError[] {
  const path = webhook.child('admissionReviewVersions');
  if (versions.length === 0) return [required(path, `must specify one of ${REVIEW_VERSIONS.join(', ')}`)];
  const errors: FieldError[] = [];
  const seen = new Set<string>();
  versions.forEach((version, i) => {
    if (seen.has(version)) errors.push(invalid(path.index(i), version, 'duplicate version'));
    else errors.push(...isDns1035Label(version).map((fault) => invalid(path.index(i), version, fault)));
    seen.add(version);
  });
  if (!versions.some((version) => REVIEW_VERSIONS.includes(version))) {
    errors.push(invalid(path, [...versions], `must include at least one of ${REVIEW_VERSIONS.join(', ')}`));
  }
  return errors;
}
