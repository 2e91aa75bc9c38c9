import {
  type FieldError,
  type FieldPath,
  forbidden,
  invalid,
  required,
} from '../../../../apimachinery/meta/field-error.js';
import { parseGroupVersion } from '../../../../apimachinery/meta/meta.js';
import { validateLabelSelector } from '../../../../apimachinery/selectors/label-selector-object.js';
import { isDns1035Label, isDns1123Subdomain, isPathSegmentName } from '../../../../apimachinery/validation/names.js';
import type { ParamKind, ParamRef } from '../../../../apimachinery/generated/admissionregistration.js';
import { choice } from '../../shared/checks.js';

/** Validates a binding's reference to its params. */
export function validateParamRef(ref: ParamRef | undefined, path: FieldPath): FieldError[] {
  if (ref === undefined) return [];
  const errors: FieldError[] = [];
  const name = ref.name ?? '';
  const selector = ref.selector;
  if (name !== '') {
    for (const text of isPathSegmentName(name)) errors.push(invalid(path.child('name'), name, text));
    if (selector !== undefined) {
      errors.push(forbidden(path.child('name'), 'name and selector are mutually exclusive'));
    }
  }
  if (selector !== undefined) {
    errors.push(...validateLabelSelector(selector, path.child('selector')));
    if (name !== '') errors.push(forbidden(path.child('selector'), 'name and selector are mutually exclusive'));
  }
  if (name === '' && selector === undefined) {
    errors.push(required(path, 'one of name or selector must be specified'));
  }
  const action = ref.parameterNotFoundAction ?? '';
  return [...errors, ...choice(action, path.child('parameterNotFoundAction'), ['Deny', 'Allow'])];
}

/** Validates the kind of a policy's params. */
export function validateParamKind(paramKind: ParamKind | undefined, path: FieldPath): FieldError[] {
  if (paramKind === undefined) return [];
  const kind = paramKind.kind ?? '';
  const errors = apiVersionErrors(paramKind.apiVersion ?? '', path.child('apiVersion'));
  if (kind === '') return [...errors, required(path.child('kind'))];
  const wrong = isDns1035Label(kind.toLowerCase());
  if (wrong.length > 0) {
    const why = `may have mixed case, but should otherwise match: ${wrong.join(',')}`;
    errors.push(invalid(path.child('kind'), kind, why));
  }
  return errors;
}

function apiVersionErrors(apiVersion: string, path: FieldPath): FieldError[] {
  if (apiVersion === '') return [required(path)];
  const parsed = parseGroupVersion(apiVersion);
  if (parsed === undefined) return [invalid(path, apiVersion, `unexpected GroupVersion string: ${apiVersion}`)];
  const { group, version } = parsed;
  const errors: FieldError[] = [];
  if (group !== '') {
    const wrong = isDns1123Subdomain(group);
    if (wrong.length > 0) errors.push(invalid(path, group, wrong.join(',')));
  }
  if (version === '') return [...errors, invalid(path, apiVersion, 'version must be specified')];
  const wrong = isDns1035Label(version);
  if (wrong.length > 0) errors.push(invalid(path, version, wrong.join(',')));
  return errors;
}
