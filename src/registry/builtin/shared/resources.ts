import {
  duplicate,
  type FieldError,
  type FieldPath,
  forbidden,
  invalid,
  notFound,
  notSupported,
  required,
} from '../../../apimachinery/meta/field-error.js';
import { type JsonObject, type JsonValue, textOf } from '../../../apimachinery/json/json.js';
import { compareUtf8, quote } from '../../../apimachinery/meta/meta.js';
import { Quantity } from '../../../apimachinery/meta/quantity.js';
import { labelErrors, qualifiedNameErrors } from '../../../apimachinery/validation/name-errors.js';
import { isQualifiedName } from '../../../apimachinery/validation/names.js';
import type { ResourceClaim, ResourceRequirements } from '../../../apimachinery/generated/core.js';

const HUGE_PAGES = 'hugepages-';
const REQUESTS = 'requests.';
const COMPUTE = ['cpu', 'memory', 'ephemeral-storage'];
const COUNTED = ['pods', 'resourcequotas', 'services', 'replicationcontrollers', 'secrets', 'configmaps'];
const CLAIMED = ['persistentvolumeclaims', 'services.nodeports', 'services.loadbalancers'];
const STANDARD = new Set([
  ...COMPUTE,
  ...COMPUTE.map((name) => `requests.${name}`),
  ...COMPUTE.map((name) => `limits.${name}`),
  ...COUNTED,
  ...CLAIMED,
  'storage',
  'requests.storage',
]);
const INTEGER = new Set([...COUNTED, ...CLAIMED]);
/** The exponent of ten for thousandths. */
const MILLI = -3;
const POD_LEVEL = ['cpu', 'memory'];

/** Parses a quantity whose form the decoder has checked. A missing one is zero. */
export const quantityOf = (value: JsonValue | undefined): Quantity => Quantity.parse(textOf(value) || '0');

export const isHugePages = (name: string): boolean => name.startsWith(HUGE_PAGES);

/** Reports whether a resource name is Kubernetes' own: it has no domain, or one of Kubernetes. */
export const isNative = (name: string): boolean => !name.includes('/') || name.includes('kubernetes.io/');

const isExtended = (name: string): boolean =>
  !isNative(name) && !name.startsWith('requests.') && isQualifiedName(`requests.${name}`).length === 0;

const overcommits = (name: string): boolean => isNative(name) && !isHugePages(name);

export const isQuotaHugePages = (name: string): boolean =>
  isHugePages(name) || (name.startsWith(REQUESTS) && isHugePages(name.slice(REQUESTS.length)));

/** Validates the name of a resource of any kind. */
export function resourceNameErrors(name: string, path: FieldPath): FieldError[] {
  const errors = qualifiedNameErrors(name, path);
  if (errors.length > 0 || name.includes('/') || STANDARD.has(name) || isQuotaHugePages(name)) return errors;
  return [invalid(path, name, 'must be a standard resource type or fully qualified')];
}

function containerNameErrors(name: string, path: FieldPath): FieldError[] {
  const errors = resourceNameErrors(name, path);
  if (!name.includes('/')) {
    if (!COMPUTE.includes(name) && !isHugePages(name)) {
      errors.push(invalid(path, name, 'must be a standard resource for containers'));
    }
  } else if (!isNative(name) && !isExtended(name)) {
    errors.push(invalid(path, name, "doesn't follow extended resource name standard"));
  }
  return errors;
}

function podNameErrors(name: string, path: FieldPath): FieldError[] {
  const errors = resourceNameErrors(name, path);
  if (errors.length > 0 || POD_LEVEL.includes(name) || isHugePages(name)) return errors;
  return [notSupported(path, name, ['cpu', HUGE_PAGES, 'memory'])];
}

const parts = (list: JsonObject | undefined): [name: string, quantity: Quantity][] =>
  Object.keys(list ?? {})
    .sort(compareUtf8)
    .map((name) => [name, quantityOf(list?.[name])]);

/** Requires a quantity not to be negative, and to be an integer for resources that are counted. */
export function quantityErrors(name: string, quantity: Quantity, path: FieldPath): FieldError[] {
  const text = quantity.toString();
  const errors = quantity.sign < 0 ? [invalid(path, text, 'must be greater than or equal to 0')] : [];
  if ((INTEGER.has(name) || isExtended(name)) && quantity.asInteger() === undefined) {
    errors.push(invalid(path, text, 'must be an integer'));
  }
  return errors;
}

/** Requires that Go's int64 of a quantity is not negative, which it may be if upper bits are lost. */
export function basicQuantityErrors(value: JsonValue | undefined, path: FieldPath): FieldError[] {
  const number = quantityOf(value).toInt64();
  return number < 0n ? [invalid(path, number, 'must be a valid resource quantity')] : [];
}

function hugePageErrors(name: string, quantity: Quantity, path: FieldPath): FieldError[] {
  if (!isHugePages(name) || isDivisible(name.slice(HUGE_PAGES.length), quantity)) return [];
  const text = quantity.toString();
  return [invalid(path, text, `${text} is not positive integer multiple of ${name}`)];
}

function isDivisible(size: string, quantity: Quantity): boolean {
  let page: bigint | undefined;
  try {
    page = Quantity.parse(size).asInteger();
  } catch {
    return false;
  }
  return page !== undefined && page > 0n && quantity.roundedUp() % page === 0n;
}

function requestErrors(name: string, asked: Quantity, limit: Quantity | undefined, path: FieldPath): FieldError[] {
  const free = overcommits(name);
  if (limit === undefined) {
    return free ? [] : [required(path.child('limits'), 'Limit must be set for non overcommitable resources')];
  }
  const order = asked.compare(limit);
  if (!free && order !== 0) {
    const why = `must be equal to ${name} limit of ${limit.toString()}`;
    return [invalid(path.child('requests'), asked.toString(), why)];
  }
  const why = `must be less than or equal to ${name} limit of ${limit.toString()}`;
  return order > 0 ? [invalid(path.child('requests'), asked.toString(), why)] : [];
}

/** Validates the requests and limits of a container, or of a pod as a whole. */
export function resourceErrors(
  resources: ResourceRequirements,
  path: FieldPath,
  claims: ReadonlySet<string>,
  level: 'container' | 'pod' = 'container',
): FieldError[] {
  const checkName = level === 'pod' ? podNameErrors : containerNameErrors;
  const limits = parts(resources.limits);
  const requests = parts(resources.requests);
  const limitOf = new Map(limits);
  const errors: FieldError[] = [];
  for (const [name, quantity] of limits) {
    const at = path.child('limits').key(name);
    errors.push(...checkName(name, at), ...quantityErrors(name, quantity, at), ...hugePageErrors(name, quantity, at));
  }
  for (const [name, quantity] of requests) {
    const at = path.child('requests').key(name);
    errors.push(...checkName(name, at), ...quantityErrors(name, quantity, at));
    errors.push(...requestErrors(name, quantity, limitOf.get(name), path), ...hugePageErrors(name, quantity, at));
  }
  const names = [...limits, ...requests].map(([name]) => name);
  if (names.some(isHugePages) && !names.some((name) => POD_LEVEL.includes(name))) {
    errors.push(forbidden(path, 'HugePages require cpu or memory'));
  }
  return [...errors, ...claimErrors(resources.claims ?? [], claims, path.child('claims'))];
}

function claimErrors(claims: readonly ResourceClaim[], known: ReadonlySet<string>, path: FieldPath): FieldError[] {
  const seen = new Set<string>();
  return claims.flatMap((claim, i) => {
    const at = path.index(i);
    const name = claim.name ?? '';
    if (name === '') return [required(at)];
    const errors: FieldError[] = [];
    if (seen.has(name)) errors.push(duplicate(at, name));
    else {
      const request = claim.request ?? '';
      const key = request === '' ? name : `${name}/${request}`;
      if (request !== '') errors.push(...labelErrors(request, at.child('request')));
      if (seen.has(key)) errors.push(duplicate(at, key));
      // Parts of the whole claim were requested before.
      else if (request === '')
        errors.push(...[...seen].filter((one) => one.startsWith(`${name}/`)).map(() => duplicate(at, name)));
      seen.add(key);
    }
    if (!known.has(name)) errors.push(unknownClaim(name, known, at));
    return errors;
  });
}

function unknownClaim(name: string, known: ReadonlySet<string>, path: FieldPath): FieldError {
  const names = known.size === 0 ? ' which is empty' : `: ${[...known].sort(compareUtf8).join(', ')}`;
  const why = `must be one of the names in pod.spec.resourceClaims${names}`;
  return notFound(path, name, why);
}

/** Returns warnings about fractional bytes. */
export function fractionWarnings(list: JsonObject | undefined, path: FieldPath, name: string): string[] {
  const value = list?.[name];
  if (quantityOf(value).asInteger() !== undefined) return [];
  return [`${path.key(name).toString()}: fractional byte value ${quote(textOf(value))} is invalid, must be an integer`];
}

/** Rounds quantities up to thousandths, in which they are stored. */
export function roundQuantities(list: Record<string, string> = {}): void {
  for (const [name, text] of Object.entries(list)) {
    // Only a quantity with a suffix, a fraction or an exponent can be more precise.
    if (/[nu.eE]/.test(text)) list[name] = Quantity.parse(text).roundedUpTo(MILLI).toString();
  }
}

/** Rounds both the requests and the limits. */
export function roundResources({ resources }: { readonly resources?: ResourceRequirements }): void {
  roundQuantities(resources?.limits);
  roundQuantities(resources?.requests);
}
