import { isIP } from 'node:net';
import {
  FieldError,
  FieldPath,
  forbidden,
  invalid,
  notSupported,
  Printed,
  required,
} from '../../../apimachinery/field-error.js';
import { deepCopy, deepEqual, isObject, type JsonObject, objectAt } from '../../../apimachinery/json.js';
import { goJson, type KubeObject } from '../../../apimachinery/meta.js';
import { isQualifiedName, isLabelValue, nameIsDnsSubdomain } from '../../../apimachinery/validation/names.js';
import type { Strategy } from '../../rest/interfaces.js';
import { keepField, objectsOf, textOf, textsOf } from '../shared/fields.js';
import { validateCoreMeta, validateCoreMetaUpdate } from '../shared/meta.js';
import { nothing, resets } from '../shared/resource-type.js';

const SPEC = FieldPath.of('spec');

function taintErrors(object: KubeObject): FieldError[] {
  const errors: FieldError[] = [];
  const seen = new Set<string>();
  objectsOf(objectAt(object, 'spec')?.['taints']).forEach((taint, i) => {
    // Kubernetes looks for them in the specification but names them so.
    const path = FieldPath.of('metadata', 'taints').index(i);
    const [key, value, effect] = [textOf(taint['key']), textOf(taint['value']), textOf(taint['effect'])];
    errors.push(...isQualifiedName(key).map((text) => invalid(path.child('key'), key, text)));
    errors.push(...isLabelValue(value).map((text) => invalid(path.child('value'), value, text)));
    if (!['NoSchedule', 'PreferNoSchedule', 'NoExecute'].includes(effect)) {
      errors.push(
        effect === ''
          ? required(path.child('effect'))
          : notSupported(path.child('effect'), effect, ['NoSchedule', 'PreferNoSchedule', 'NoExecute']),
      );
    }
    const id = `${key}\n${effect}`;
    if (seen.has(id)) errors.push(duplicateTaint(path, taint));
    seen.add(id);
  });
  return errors;
}

/** Printed with the names of the Go fields. */
function duplicateTaint(path: FieldPath, taint: JsonObject): FieldError {
  const added = taint['timeAdded'] ?? null;
  const text = `{"Key":${goJson(taint['key'] ?? '')},"Value":${goJson(taint['value'] ?? '')},"Effect":${goJson(taint['effect'] ?? '')},"TimeAdded":${goJson(added)}}`;
  const detail = 'taints must be unique by key and effect pair';
  return new FieldError('FieldValueDuplicate', path.toString(), new Printed(text), detail);
}

const validate = (object: KubeObject): FieldError[] => [
  ...validateCoreMeta(object.metadata, false, nameIsDnsSubdomain),
  ...taintErrors(object),
  ...podCidrErrors(object),
];

/** The single range and the list of them say the same; where they don't, the single one is right. */
function syncPodCidrs(spec: JsonObject): void {
  const single = textOf(spec['podCIDR']);
  const [first = ''] = textsOf(spec['podCIDRs']);
  if (single !== '' && single !== first) spec['podCIDRs'] = [single];
  else if (single === '' && first !== '') spec['podCIDR'] = first;
}

function podCidrErrors(object: KubeObject): FieldError[] {
  return podCidrs(object).flatMap((cidr, i) =>
    isCidr(cidr)
      ? []
      : [
          invalid(
            SPEC.child('podCIDRs').index(i),
            cidr,
            'must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)',
          ),
        ],
  );
}

function isCidr(text: string): boolean {
  const [address = '', bits = '', ...rest] = text.split('/');
  const family = isIP(address);
  return rest.length === 0 && family !== 0 && /^\d{1,3}$/.test(bits) && Number(bits) <= (family === 4 ? 32 : 128);
}

/** Capacity that is allocatable unless said otherwise, and the list of ranges for pods. */
export function applyNodeDefaults(object: KubeObject): void {
  const spec = objectAt(object, 'spec');
  if (spec !== undefined) syncPodCidrs(spec);
  const status = objectAt(object, 'status');
  const capacity = status?.['capacity'];
  if (isObject(capacity) && status?.['allocatable'] === undefined) {
    object['status'] = { ...status, allocatable: deepCopy(capacity) };
  }
}

const podCidrs = (object: KubeObject): string[] => textsOf(objectAt(object, 'spec')?.['podCIDRs']);

/** Of the specification only some fields may change, and those given once must stay. */
function updateErrors(object: KubeObject, old: KubeObject): FieldError[] {
  const errors = validateCoreMetaUpdate(object.metadata, old.metadata);
  const spec = objectAt(object, 'spec') ?? {};
  const before = objectAt(old, 'spec') ?? {};
  const oldCidrs = podCidrs(old);
  if (oldCidrs.length > 0 && !deepEqual(podCidrs(object), oldCidrs)) {
    errors.push(forbidden(SPEC.child('podCIDRs'), 'node updates may not change podCIDR except from "" to valid'));
  }
  const oldProvider = textOf(before['providerID']);
  if (oldProvider !== '' && oldProvider !== textOf(spec['providerID'])) {
    errors.push(forbidden(SPEC.child('providerID'), 'node updates may not change providerID except from "" to valid'));
  }
  errors.push(...taintErrors(object));
  return errors;
}

export const nodeStrategy: Strategy = {
  allowCreateOnUpdate: false,
  allowUnconditionalUpdate: true,
  resetFields: resets(['status']),
  prepareForCreate: nothing,
  prepareForUpdate: (_context, object, old) => {
    keepField('status', object, old);
  },
  validateCreate: (_context, object) => validate(object),
  validateUpdate: (_context, object, old) => [...validate(object), ...updateErrors(object, old)],
};

export const nodeStatusStrategy: Strategy = {
  ...nodeStrategy,
  resetFields: resets(['spec']),
  prepareForUpdate: (_context, object, old) => {
    keepField('spec', object, old);
  },
  validateUpdate: (_context, object, old) => updateErrors(object, old),
};
