import { type FieldError, type FieldPath, invalid, required, tooLong } from '../../../apimachinery/meta/field-error.js';
import { quote } from '../../../apimachinery/meta/meta.js';
import { isDns1123Label, isDns1123Subdomain } from '../../../apimachinery/validation/names.js';

const MAX_DOMAIN = 253;
const MAX_PATH = 253 + 63 + 1;

function labelErrors(path: FieldPath, segment: string, check: (label: string) => readonly string[]): FieldError[] {
  for (const label of segment.split('.')) {
    const texts = check(label);
    // Report only the first invalid label.
    if (texts.length > 0)
      return texts.map((text) => invalid(path, segment, `validating label ${quote(label)}: ${text}`));
  }
  return [];
}

/** Validates a signer name: a domain, a slash and a path, as in `example.com/signer-name`. */
export function validateSignerName(path: FieldPath, signerName: string): FieldError[] {
  if (signerName === '') return [required(path)];
  const [domain, tail, ...more] = signerName.split('/');
  if (domain === undefined || tail === undefined || more.length > 0) {
    const why = "must be a fully qualified domain and path of the form 'example.com/signer-name'";
    return [invalid(path, signerName, why)];
  }
  const errors: FieldError[] = [];
  if (domain.length > MAX_DOMAIN) errors.push(tooLong(path, MAX_DOMAIN));
  errors.push(...labelErrors(path, domain, isDns1123Label));
  if (!domain.includes('.')) {
    errors.push(invalid(path, domain, 'should be a domain with at least two segments separated by dots'));
  }
  errors.push(...labelErrors(path, tail, isDns1123Subdomain));
  const max = MAX_DOMAIN + MAX_PATH + 1;
  if (signerName.length > max) errors.push(tooLong(path, max));
  return errors;
}
