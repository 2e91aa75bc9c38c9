import type * as core from '../../../../../apimachinery/generated/core.js';
import {
  type FieldError,
  type FieldPath,
  invalid,
  notSupported,
  required,
} from '../../../../../apimachinery/meta/field-error.js';
import type { Quantity } from '../../../../../apimachinery/meta/quantity.js';
import { qualifiedNameErrors } from '../../../../../apimachinery/validation/name-errors.js';
import { choiceIfSet, filePathErrors, modeErrors } from '../../../shared/checks.js';
import { quantityOf } from '../../../shared/resources.js';

const METADATA = ['metadata.annotations', 'metadata.labels', 'metadata.name', 'metadata.namespace', 'metadata.uid'];
/** The fields that a reference may name at all. Each place allows only some of them. */
const LABELS = new Set([
  ...METADATA,
  'spec.nodeName',
  'spec.restartPolicy',
  'spec.serviceAccountName',
  'spec.schedulerName',
  'status.phase',
  'status.hostIP',
  'status.hostIPs',
  'status.podIP',
  'status.podIPs',
]);
const SUBSCRIPTED = ['metadata.annotations', 'metadata.labels'];

/** The fields of a pod that a file may contain. */
const FILE_FIELDS = METADATA;
/** The fields of a pod that an environment variable may contain. */
export const VARIABLE_FIELDS = [
  'metadata.name',
  'metadata.namespace',
  'metadata.uid',
  'spec.nodeName',
  'spec.serviceAccountName',
  'status.hostIP',
  'status.hostIPs',
  'status.podIP',
  'status.podIPs',
];

/** Splits `metadata.labels['key']` into its path and its key. */
function subscripted(path: string): readonly [path: string, key: string] | undefined {
  if (!path.endsWith("']")) return undefined;
  const at = path.indexOf("['");
  return at > 0 && at <= path.length - 4 ? [path.slice(0, at), path.slice(at + 2, -2)] : undefined;
}

function notConvertible(version: string, path: string): string | undefined {
  if (version !== 'v1') return `unsupported pod version: ${version}`;
  const parts = subscripted(path);
  if (parts !== undefined) {
    return SUBSCRIPTED.includes(parts[0]) ? undefined : `field label does not support subscript: ${path}`;
  }
  return LABELS.has(path) || path === 'spec.host' ? undefined : `field label not supported: ${path}`;
}

/** Validates a reference to a field of the pod. */
export function fieldRefErrors(
  ref: core.ObjectFieldSelector,
  path: FieldPath,
  allowed: readonly string[],
): FieldError[] {
  const version = ref.apiVersion ?? '';
  const field = ref.fieldPath ?? '';
  if (version === '') return [required(path.child('apiVersion'))];
  if (field === '') return [required(path.child('fieldPath'))];
  const problem = notConvertible(version, field);
  if (problem !== undefined) return [invalid(path.child('fieldPath'), field, `error converting fieldPath: ${problem}`)];
  const parts = subscripted(field);
  if (parts !== undefined) {
    const key = parts[0] === 'metadata.annotations' ? parts[1].toLowerCase() : parts[1];
    return qualifiedNameErrors(key, path);
  }
  const known = field === 'spec.host' ? 'spec.nodeName' : field;
  return choiceIfSet(known, path.child('fieldPath'), allowed);
}

const RESOURCES = [
  'limits.cpu',
  'limits.ephemeral-storage',
  'limits.memory',
  'requests.cpu',
  'requests.ephemeral-storage',
  'requests.memory',
];
const HUGE_PAGES = /^(?:limits|requests)\.hugepages-/;
const UNITS = ['1', '1k', '1M', '1G', '1T', '1P', '1E', '1Ki', '1Mi', '1Gi', '1Ti', '1Pi', '1Ei'];
const UNIT_TEXT = UNITS.join(', ');

function divisorErrors(resource: string, quantity: Quantity, path: FieldPath): FieldError[] {
  if (quantity.sign === 0) return [];
  const text = quantity.toString();
  const refuse = (why: string): FieldError[] => [invalid(path.child('divisor'), resource, why)];
  if (/^(?:limits|requests)\.cpu$/.test(resource)) {
    return ['1m', '1'].includes(text)
      ? []
      : refuse("only divisor's values 1m and 1 are supported with the cpu resource");
  }
  const what = resource.endsWith('.memory')
    ? 'memory'
    : resource.endsWith('.ephemeral-storage')
      ? 'local ephemeral storage'
      : 'hugepages';
  if (!RESOURCES.includes(resource) && !HUGE_PAGES.test(resource)) return [];
  return UNITS.includes(text)
    ? []
    : refuse(`only divisor's values ${UNIT_TEXT} are supported with the ${what} resource`);
}

/** Validates a reference to a request or limit of a container. */
export function resourceRefErrors(
  ref: core.ResourceFieldSelector,
  path: FieldPath,
  containerName: 'required' | 'implied',
): FieldError[] {
  const resource = ref.resource ?? '';
  const errors: FieldError[] = [];
  if (containerName === 'required' && !ref.containerName) errors.push(required(path.child('containerName')));
  else if (resource === '') errors.push(required(path.child('resource')));
  else if (!RESOURCES.includes(resource) && !HUGE_PAGES.test(resource)) {
    errors.push(notSupported(path.child('resource'), resource, RESOURCES));
  }
  return [...errors, ...divisorErrors(resource, quantityOf(ref.divisor), path)];
}

/** Validates a file with a field of the pod, or with a resource of one of its containers. */
export function downwardFileErrors(file: core.DownwardAPIVolumeFile, path: FieldPath): FieldError[] {
  const where = file.path ?? '';
  const errors = where === '' ? [required(path.child('path'))] : [];
  errors.push(...filePathErrors(where, path.child('path')));
  const field = file.fieldRef;
  const resource = file.resourceFieldRef;
  if (field !== undefined) {
    errors.push(...fieldRefErrors(field, path.child('fieldRef'), FILE_FIELDS));
    const why = 'fieldRef and resourceFieldRef can not be specified simultaneously';
    if (resource !== undefined) errors.push(invalid(path, 'resource', why));
  } else if (resource !== undefined) {
    errors.push(...resourceRefErrors(resource, path.child('resourceFieldRef'), 'required'));
  } else errors.push(required(path, 'one of fieldRef and resourceFieldRef is required'));
  return [...errors, ...modeErrors(file.mode, path.child('mode'))];
}
