import {
  type FieldError,
  type FieldPath,
  forbidden,
  invalid,
  notSupported,
  required,
} from '../../../../apimachinery/meta/field-error.js';
import { type JsonObject, objectAt, stringAt } from '../../../../apimachinery/json/json.js';
import { isDns1035Label } from '../../../../apimachinery/validation/names.js';
import { caBundleFault } from './ca-bundle.js';
import { REVIEW_VERSIONS, type SchemaRequirements } from '../interfaces.js';
import { reviewVersionsOf } from './requirements.js';
import { clientConfigOf, validateWebhookService, validateWebhookUrl } from './webhook.js';

const STRATEGIES = ['None', 'Webhook'];

/** Validates the conversion between versions. The paths are those of kube-apiserver's internal form, without `webhook`. */
export function validateConversion(
  conversion: JsonObject | undefined,
  requirements: SchemaRequirements,
  path: FieldPath,
): FieldError[] {
  if (conversion === undefined) return [];
  const strategy = stringAt(conversion, 'strategy') ?? '';
  const errors: FieldError[] = [];
  if (strategy === '') errors.push(required(path.child('strategy')));
  else if (!STRATEGIES.includes(strategy)) errors.push(notSupported(path.child('strategy'), strategy, STRATEGIES));
  const config = clientConfigOf(conversion);
  const versions = reviewVersionsOf(conversion);
  const configPath = path.child('webhookClientConfig');
  const versionsPath = path.child('conversionReviewVersions');
  if (strategy !== 'Webhook') {
    const text = 'should not be set when strategy is not set to Webhook';
    if (config !== undefined) errors.push(forbidden(configPath, text));
    if (versions.length > 0) errors.push(forbidden(versionsPath, text));
    return errors;
  }
  if (config === undefined) errors.push(required(configPath, 'required when strategy is set to Webhook'));
  else errors.push(...validateClientConfig(config, requirements.validCaBundle, configPath));
  errors.push(...validateReviewVersions(versions, requirements.recognizedReviewVersion, versionsPath));
  return errors;
}

function validateClientConfig(config: JsonObject, checkBundle: boolean, path: FieldPath): FieldError[] {
  const url = stringAt(config, 'url');
  const service = objectAt(config, 'service');
  const errors: FieldError[] = [];
  if ((url === undefined) === (service === undefined)) {
    errors.push(required(path, 'exactly one of url or service is required'));
  } else if (url !== undefined) errors.push(...validateWebhookUrl(path.child('url'), url));
  else if (service !== undefined) errors.push(...validateWebhookService(path.child('service'), service));
  const bundle = stringAt(config, 'caBundle') ?? '';
  const fault = checkBundle && bundle !== '' ? caBundleFault(bundle) : undefined;
  if (fault !== undefined) errors.push(invalid(path.child('caBundle'), bundle, fault));
  return errors;
}

function validateReviewVersions(versions: readonly string[], recognized: boolean, path: FieldPath): FieldError[] {
  if (versions.length === 0) return [required(path)];
  const errors: FieldError[] = [];
  const seen = new Set<string>();
  for (const [i, version] of versions.entries()) {
    if (seen.has(version)) errors.push(invalid(path.index(i), version, 'duplicate version'));
    else errors.push(...isDns1035Label(version).map((fault) => invalid(path.index(i), version, fault)));
    seen.add(version);
  }
  if (recognized && !versions.some((version) => REVIEW_VERSIONS.includes(version))) {
    errors.push(invalid(path, [...versions], `must include at least one of ${REVIEW_VERSIONS.join(', ')}`));
  }
  return errors;
}
