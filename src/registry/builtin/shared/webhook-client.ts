import { type FieldError, type FieldPath, invalid, required } from '../../../apimachinery/meta/field-error.js';
import { type JsonObject, objectAt, stringAt, textAt } from '../../../apimachinery/json/json.js';
import { inclusiveRangeError, isDns1035Label, isDns1123Subdomain } from '../../../apimachinery/validation/names.js';
import { quote } from '../../../apimachinery/meta/meta.js';
import { urlFault } from '../../../apimachinery/validation/url-fault.js';

/** The versions of its review that kube-apiserver supports. */
export const REVIEW_VERSIONS = ['v1', 'v1beta1'];

const FORM = '; desired format: https://host[/path]';

/** Validates the address of a webhook, which is either a URL or a service. */
export function validateUrlOrService(config: JsonObject, path: FieldPath): FieldError[] {
  const url = stringAt(config, 'url');
  const service = objectAt(config, 'service');
  if (url !== undefined && service === undefined) return validateWebhookUrl(path.child('url'), url);
  if (url === undefined && service !== undefined) return validateWebhookService(path.child('service'), service);
  return [required(path, 'exactly one of url or service is required')];
}

/** Validates the versions of its review that a webhook accepts. */
export function validateVersionNames(versions: readonly string[], path: FieldPath): FieldError[] {
  const seen = new Set<string>();
  return versions.flatMap((version, i) => {
    if (seen.has(version)) return [invalid(path.index(i), version, 'duplicate version')];
    seen.add(version);
    return isDns1035Label(version).map((fault) => invalid(path.index(i), version, fault));
  });
}

/** Requires a version of the review that kube-apiserver supports. */
export const recognizedVersionErrors = (versions: readonly string[], path: FieldPath): FieldError[] =>
  versions.some((version) => REVIEW_VERSIONS.includes(version))
    ? []
    : [invalid(path, [...versions], `must include at least one of ${REVIEW_VERSIONS.join(', ')}`)];

/** Validates the URL of a webhook: https with a host, and nothing else but a path. */
function validateWebhookUrl(path: FieldPath, url: string): FieldError[] {
  const match = /^(?:([a-zA-Z][a-zA-Z0-9+.-]*):)?(?:\/\/([^/?#]*))?([^?#]*)(?:\?([^#]*))?(?:#(.*))?$/s.exec(url);
  const fault = urlFault(url);
  if (match === null || fault !== undefined) {
    const why = `parse ${quote(url)}: ${fault ?? 'invalid URL'}`;
    return [required(path, `url must be a valid URL: ${why}${FORM}`)];
  }
  const [, scheme = '', authority = '', , query = '', fragment = ''] = match;
  const at = authority.lastIndexOf('@');
  const host = authority.slice(at + 1);
  const errors: FieldError[] = [];
  if (scheme.toLowerCase() !== 'https') {
    errors.push(invalid(path, scheme.toLowerCase(), `'https' is the only allowed URL scheme${FORM}`));
  }
  if (host === '') errors.push(invalid(path, '', `host must be specified${FORM}`));
  if (at >= 0) {
    errors.push(invalid(path, authority.slice(0, at), 'user information is not permitted in the URL'));
  }
  if (fragment !== '') errors.push(invalid(path, fragment, 'fragments are not permitted in the URL'));
  if (query !== '') errors.push(invalid(path, query, 'query parameters are not permitted in the URL'));
  return errors;
}

/** Validates the service of a webhook. kube-apiserver's check of conversion webhooks confuses name and namespace, and so does this one. */
function validateWebhookService(path: FieldPath, service: JsonObject): FieldError[] {
  const errors: FieldError[] = [];
  if (textAt(service, 'namespace') === '') errors.push(required(path.child('name')));
  if (textAt(service, 'name') === '') errors.push(required(path.child('namespace')));
  const port = service['port'] ?? 443;
  if (typeof port === 'number' && (port < 1 || port > 65535)) {
    errors.push(invalid(path.child('port'), port, `port is not valid: ${inclusiveRangeError(1, 65535)}`));
  }
  const url = stringAt(service, 'path');
  return url === undefined ? errors : [...errors, ...validatePath(path.child('path'), url)];
}

function validatePath(path: FieldPath, url: string): FieldError[] {
  if (url === '/' || url === '') return [];
  if (url === '//') return [invalid(path, url, 'segment[0] may not be empty')];
  const errors: FieldError[] = [];
  if (!url.startsWith('/')) errors.push(invalid(path, url, "must start with a '/'"));
  const inner = url.slice(1).replace(/\/$/, '');
  for (const [i, step] of inner.split('/').entries()) {
    if (step === '') errors.push(invalid(path, url, `segment[${String(i)}] may not be empty`));
    else {
      const faults = isDns1123Subdomain(step);
      errors.push(...faults.map((fault) => invalid(path, url, `segment[${String(i)}]: ${fault}`)));
    }
  }
  return errors;
}
