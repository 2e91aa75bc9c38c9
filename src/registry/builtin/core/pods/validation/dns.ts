import { type FieldError, type FieldPath, invalid, required } from '../../../../../apimachinery/meta/field-error.js';
import { toFieldErrors } from '../../../../../apimachinery/validation/name-errors.js';
import { maxLenCharacters, regexError } from '../../../../../apimachinery/validation/names.js';
import type { PodSpec } from '../../../../../apimachinery/generated/core.js';
import { eachErrors, ipErrors, itemErrors } from '../../../shared/checks.js';

const MAX_SERVERS = 3;
const MAX_SEARCHES = 32;
const MAX_SEARCH_TEXT = 2048;
const MAX_SUBDOMAIN = 253;

const LABEL = '_?[a-z0-9]([-_a-z0-9]*[a-z0-9])?';
const LABEL_FORM = new RegExp(`^${LABEL}$`);
const SEARCH_MESSAGE =
  "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '_', '-' or '.', and must start and end with an alphanumeric character";

/** Validates a search domain: a subdomain in which labels may have underscores in place of dashes, and before their first character. */
function searchProblems(name: string): string[] {
  const problems = Buffer.byteLength(name) > MAX_SUBDOMAIN ? [maxLenCharacters(MAX_SUBDOMAIN)] : [];
  if (name.split('.').every((label) => LABEL_FORM.test(label))) return problems;
  return [...problems, regexError(SEARCH_MESSAGE, `${LABEL}(\\.${LABEL})*`, 'example.com')];
}

const searchErrors = toFieldErrors(searchProblems);

/** Validates the DNS policy and the DNS configuration of a pod. */
export function dnsErrors(spec: PodSpec, path: FieldPath): FieldError[] {
  const config = spec.dnsConfig;
  const servers = config?.nameservers ?? [];
  if (spec.dnsPolicy === 'None') {
    if (config === undefined) return [required(path, 'must provide `dnsConfig` when `dnsPolicy` is None')];
    const why = 'must provide at least one DNS nameserver when `dnsPolicy` is None';
    if (servers.length === 0) return [required(path.child('nameservers'), why)];
  }
  const errors: FieldError[] = [];
  const serversAt = path.child('nameservers');
  if (servers.length > MAX_SERVERS) {
    errors.push(invalid(serversAt, servers, `must not have more than ${String(MAX_SERVERS)} nameservers`));
  }
  errors.push(...eachErrors(servers, serversAt, ipErrors));
  const searches = config?.searches ?? [];
  const at = path.child('searches');
  if (searches.length > MAX_SEARCHES) {
    errors.push(invalid(at, searches, `must not have more than ${String(MAX_SEARCHES)} search paths`));
  }
  if (Buffer.byteLength(searches.join(' ')) > MAX_SEARCH_TEXT) {
    const why = `must not have more than ${String(MAX_SEARCH_TEXT)} characters (including spaces) in the search list`;
    errors.push(invalid(at, searches, why));
  }
  return [
    ...errors,
    ...eachErrors(searches, at, (search, searchPath) =>
      search === '.' ? [] : searchErrors(search.replace(/\.$/, ''), searchPath),
    ),
    ...itemErrors(config, 'options', path, (option, optionPath) =>
      !option.name ? [required(optionPath, 'must not be empty')] : [],
    ),
  ];
}
