import {
  type FieldError,
  type FieldPath,
  forbidden,
  invalid,
  required,
} from '../../../../apimachinery/meta/field-error.js';
import { type JsonObject, textAt } from '../../../../apimachinery/json/json.js';
import { choice } from '../../../builtin/shared/checks.js';
import { caBundleFault } from './ca-bundle.js';
import { clientConfigOf, type SchemaRequirements } from '../interfaces.js';
import { reviewVersionsOf } from './requirements.js';
import {
  recognizedVersionErrors,
  validateUrlOrService,
  validateVersionNames,
} from '../../../builtin/shared/webhook-client.js';

const STRATEGIES = ['None', 'Webhook'];

/** Validates the conversion between versions. The paths are those of kube-apiserver's internal form, without `webhook`. */
export function validateConversion(
  conversion: JsonObject | undefined,
  requirements: SchemaRequirements,
  path: FieldPath,
): FieldError[] {
  if (conversion === undefined) return [];
  const strategy = textAt(conversion, 'strategy');
  const errors = choice(strategy, path.child('strategy'), STRATEGIES);
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
  const errors = validateUrlOrService(config, path);
  const bundle = textAt(config, 'caBundle');
  const fault = checkBundle && bundle !== '' ? caBundleFault(bundle) : undefined;
  if (fault !== undefined) errors.push(invalid(path.child('caBundle'), bundle, fault));
  return errors;
}

function validateReviewVersions(versions: readonly string[], recognized: boolean, path: FieldPath): FieldError[] {
  if (versions.length === 0) return [required(path)];
  const errors = validateVersionNames(versions, path);
  return recognized ? [...errors, ...recognizedVersionErrors(versions, path)] : errors;
}
