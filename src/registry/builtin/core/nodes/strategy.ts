import {
  duplicate,
  type FieldError,
  FieldPath,
  forbidden,
  internalError,
  invalid,
  Printed,
} from '../../../../apimachinery/meta/field-error.js';
import { deepCopy, deepEqual, isObject } from '../../../../apimachinery/json/json.js';
import type { Node, NodeSpec, Taint } from '../../../../apimachinery/generated/core.js';
import { goJson, quote } from '../../../../apimachinery/meta/meta.js';
import { cidrErrors, cidrWarnings } from '../../../../apimachinery/validation/addresses.js';
import {
  labelValueErrors,
  qualifiedNameErrors,
  toFieldErrors,
} from '../../../../apimachinery/validation/name-errors.js';
import { nameIsDnsSubdomain } from '../../../../apimachinery/validation/names.js';
import type { Strategy } from '../../../rest/interfaces.js';
import { choice, eachErrors, itemErrors, noDuplicates } from '../../shared/checks.js';
import { emptyListIsNull, keepField } from '../../shared/fields.js';
import { validateCoreMeta, validateCoreMetaUpdate } from '../../shared/meta.js';
import { TAINT_EFFECTS } from '../../shared/node-selector.js';
import { resets } from '../../shared/resource-type.js';
import { quantityErrors, quantityOf, roundQuantities } from '../../shared/resources.js';

const SPEC = FieldPath.of('spec');
const STATUS = FieldPath.of('status');

function taintErrors(object: Node): FieldError[] {
  const seen = new Set<string>();
  // Kubernetes reads the taints in spec, but reports them in metadata.
  return itemErrors(object.spec, 'taints', FieldPath.of('metadata'), (taint, path) => {
    const [key, value, effect] = [taint.key ?? '', taint.value ?? '', taint.effect ?? ''];
    const errors = [
      ...qualifiedNameErrors(key, path.child('key')),
      ...labelValueErrors(value, path.child('value')),
      ...choice(effect, path.child('effect'), TAINT_EFFECTS),
    ];
    const id = `${key}\n${effect}`;
    if (seen.has(id)) errors.push(duplicateTaint(path, taint));
    seen.add(id);
    return errors;
  });
}

/** Returns the error for a duplicate taint, printed with the names of the Go fields. */
function duplicateTaint(path: FieldPath, taint: Taint): FieldError {
  const added = taint.timeAdded ?? null;
  const text = `{"Key":${goJson(taint.key ?? '')},"Value":${goJson(taint.value ?? '')},"Effect":${goJson(taint.effect ?? '')},"TimeAdded":${goJson(added)}}`;
  return duplicate(path, new Printed(text), 'taints must be unique by key and effect pair');
}

const validate = (object: Node): FieldError[] => [
  ...validateCoreMeta(object.metadata, 'Cluster', nameIsDnsSubdomain),
  ...taintErrors(object),
  ...statusErrors(object),
  ...featureErrors(object),
  ...podCidrErrors(object),
];

/** Synchronizes podCIDR and podCIDRs. If they differ, podCIDR wins. */
function syncPodCidrs(spec: NodeSpec): void {
  const single = spec.podCIDR ?? '';
  const [first = ''] = spec.podCIDRs ?? [];
  if (single !== '' && single !== first) spec.podCIDRs = [single];
  else if (single === '' && first !== '') spec.podCIDR = first;
}

/** Validates the pod CIDRs: at most one of each IP family. */
function podCidrErrors(object: Node): FieldError[] {
  const cidrs = podCidrs(object);
  const path = SPEC.child('podCIDRs');
  const errors = eachErrors(cidrs, path, toFieldErrors(cidrErrors));
  if (cidrs.length < 2) return errors;
  const bad = cidrs.findIndex((cidr) => cidrErrors(cidr).length > 0);
  if (bad >= 0) {
    const why = `invalid CIDR[${String(bad)}]: <nil> (invalid CIDR address: ${cidrs[bad] ?? ''})`;
    errors.push(internalError(path, `invalid PodCIDRs. failed to check with dual stack with error:${why}`));
  }
  const families = new Set(cidrs.map((cidr) => cidr.includes(':')));
  if (bad >= 0 || families.size < 2 || cidrs.length > 2) {
    errors.push(invalid(path, cidrs, 'may specify no more than one CIDR for each IP family'));
  }
  return errors;
}

/** Validates the capacity and the allocatable resources of a node. */
function statusErrors(object: Node): FieldError[] {
  const status = object.status;
  return (['capacity', 'allocatable'] as const).flatMap((field) => {
    const list = status?.[field] ?? {};
    return Object.keys(list).flatMap((name) => quantityErrors(name, quantityOf(list[name]), STATUS.child(field, name)));
  });
}

const FEATURE = /^[A-Z][a-zA-Z0-9]*(?:\/[a-zA-Z][a-zA-Z0-9]*)*$/;
const FEATURE_MAX = 253;

/** Validates the features that a kubelet declares, which are sorted by name. */
function featureErrors(object: Node): FieldError[] {
  const names = object.status?.declaredFeatures ?? [];
  return names.flatMap((name, i) => {
    const path = STATUS.child('declaredFeatures').index(i);
    const errors: FieldError[] = [];
    const before = names[i - 1];
    if (before === name) errors.push(duplicate(path, name));
    else if (before !== undefined && before > name)
      errors.push(invalid(path, name, 'list must be sorted alphabetically'));
    const shown = `invalid feature name ${quote(name)}: must`;
    if (Buffer.byteLength(name) > FEATURE_MAX) {
      errors.push(invalid(path, name, `${shown} be no more than ${String(FEATURE_MAX)} characters`));
    } else if (!FEATURE.test(name)) {
      const form =
        "start with an UpperCamelCase segment, with subsequent segments separated by '/' (e.g., MyFeature or MyFeature/mySubFeature), and contain only alphanumeric characters and slashes";
      errors.push(invalid(path, name, `${shown} ${form}`));
    }
    return errors;
  });
}

function addressErrors(object: Node): FieldError[] {
  const again = noDuplicates((text) => new Printed(text));
  return itemErrors(object.status, 'addresses', STATUS, (address, path) =>
    again(`{"Type":${goJson(address.type ?? '')},"Address":${goJson(address.address ?? '')}}`, path),
  );
}

/** Drops the fields of dynamic kubelet configuration, which Kubernetes has removed. */
function dropConfig(object: Node): void {
  delete object.spec?.configSource;
  delete object.status?.config;
}

function warnings(object: Node): string[] {
  const id = object.spec?.externalID ?? '';
  return [
    ...(id === '' ? [] : ['spec.externalID: this field is deprecated, and is unused by Kubernetes']),
    ...podCidrs(object).flatMap((cidr, i) => cidrWarnings(SPEC.child('podCIDRs').index(i).toString(), cidr)),
  ];
}

/** Synchronizes podCIDR and podCIDRs, rounds quantities, and defaults allocatable to capacity. */
export function applyNodeDefaults(object: Node): void {
  const spec = object.spec;
  if (spec !== undefined) syncPodCidrs(spec);
  const status = object.status;
  roundQuantities(status?.capacity);
  roundQuantities(status?.allocatable);
  const capacity = status?.capacity;
  if (isObject(capacity) && status?.allocatable === undefined) {
    object.status = { ...status, allocatable: deepCopy(capacity) };
  }
}

const podCidrs = (object: Node): string[] => object.spec?.podCIDRs ?? [];

/** Validates an update: only some fields of the spec may change, and those that were set must stay. */
function updateErrors(object: Node, old: Node): FieldError[] {
  const errors = [
    ...validateCoreMetaUpdate(object.metadata, old.metadata),
    ...statusErrors(object),
    ...featureErrors(object),
    ...addressErrors(object),
  ];
  const spec: NodeSpec = object.spec ?? {};
  const before: NodeSpec = old.spec ?? {};
  const oldCidrs = podCidrs(old);
  if (oldCidrs.length > 0 && !deepEqual(podCidrs(object), oldCidrs)) {
    errors.push(forbidden(SPEC.child('podCIDRs'), 'node updates may not change podCIDR except from "" to valid'));
  }
  const oldProvider = before.providerID ?? '';
  const provider = spec.providerID ?? '';
  if (oldProvider !== '' && oldProvider !== provider) {
    const why = provider === '' ? 'field cannot be cleared once set' : 'field cannot be modified once set';
    errors.push(invalid(SPEC.child('providerID'), null, why));
  }
  errors.push(...taintErrors(object));
  if ((spec.externalID ?? '') !== (before.externalID ?? '')) {
    errors.push(forbidden(SPEC.child('externalID'), 'may not be updated'));
  }
  return errors;
}

function emptyNamesAreNull(node: Node): void {
  for (const image of node.status?.images ?? []) emptyListIsNull(image, 'names');
}

export const nodeStrategy: Strategy<Node> = {
  allowCreateOnUpdate: false,
  allowUnconditionalUpdate: true,
  resetFields: resets(['status']),
  prepareForCreate: (_context, object) => {
    dropConfig(object);
    emptyNamesAreNull(object);
  },
  prepareForUpdate: (_context, object, old) => {
    keepField('status', object, old);
    dropConfig(object);
  },
  warningsOnCreate: (_context, object) => warnings(object),
  warningsOnUpdate: (_context, object) => warnings(object),
  validateCreate: (_context, object) => validate(object),
  validateUpdate: (_context, object, old) => [...validate(object), ...updateErrors(object, old)],
};

export const nodeStatusStrategy: Strategy<Node> = {
  ...nodeStrategy,
  resetFields: resets(['spec']),
  prepareForUpdate: (_context, object, old) => {
    keepField('spec', object, old);
    dropConfig(object);
    emptyNamesAreNull(object);
  },
  warningsOnUpdate: () => [],
  validateUpdate: (_context, object, old) => updateErrors(object, old),
};
