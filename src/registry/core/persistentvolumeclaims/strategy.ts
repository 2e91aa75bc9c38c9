import {
  type FieldError,
  FieldPath,
  forbidden,
  invalid,
  notSupported,
  required,
} from '../../../apimachinery/field-error.js';
import { deepEqual, type JsonObject, objectAt } from '../../../apimachinery/json.js';
import type { KubeObject } from '../../../apimachinery/meta.js';
import { validateLabelSelector } from '../../../apimachinery/labels.js';
import { nameIsDnsSubdomain } from '../../../apimachinery/validation/names.js';
import type { Strategy } from '../../rest/interfaces.js';
import { ensureObject, keepField, setDefault, textOf } from '../shared/fields.js';
import { validateCoreMeta, validateCoreMetaUpdate } from '../shared/meta.js';
import { resets } from '../shared/resource-type.js';
import { accessModeErrors, positiveQuantityErrors, VOLUME_MODES } from '../shared/volumes.js';

const SPEC = FieldPath.of('spec');
const IMMUTABLE =
  'spec is immutable after creation except resources.requests and volumeAttributesClassName for bound claims';

const requestsOf = (spec: JsonObject | undefined): JsonObject | undefined =>
  objectAt(objectAt(spec, 'resources'), 'requests');

function validate(object: KubeObject): FieldError[] {
  const errors = validateCoreMeta(object.metadata, true, nameIsDnsSubdomain);
  const spec = objectAt(object, 'spec') ?? {};
  errors.push(
    ...accessModeErrors(spec['accessModes'], SPEC.child('accessModes'), 'at least 1 access mode is required'),
  );
  errors.push(...validateLabelSelector(objectAt(spec, 'selector'), SPEC.child('selector')));
  const storage = requestsOf(spec)?.['storage'];
  const path = SPEC.child('resources');
  if (storage === undefined) errors.push(required(path.key('storage')));
  else errors.push(...positiveQuantityErrors(storage, path.key('storage')));
  const className = textOf(spec['storageClassName']);
  if (className !== '') {
    const classPath = SPEC.child('storageClassName');
    errors.push(...nameIsDnsSubdomain(className, false).map((text) => invalid(classPath, className, text)));
  }
  const mode = textOf(spec['volumeMode']);
  if (mode !== '' && !VOLUME_MODES.includes(mode))
    errors.push(notSupported(SPEC.child('volumeMode'), mode, VOLUME_MODES));
  return errors;
}

/** A claim may be bound to a volume, and a bound one may ask for more space; nothing else changes. */
function updateErrors(object: KubeObject, old: KubeObject): FieldError[] {
  const errors = validateCoreMetaUpdate(object.metadata, old.metadata);
  const before = objectAt(old, 'spec') ?? {};
  const changed: JsonObject = { ...objectAt(object, 'spec') };
  if (textOf(before['volumeName']) === '' && textOf(changed['volumeName']) !== '') delete changed['volumeName'];
  if (textOf(objectAt(old, 'status')?.['phase']) === 'Bound') {
    changed['resources'] = before['resources'];
    changed['volumeAttributesClassName'] = before['volumeAttributesClassName'];
  }
  if (!deepEqual(changed, before)) errors.push(forbidden(SPEC, IMMUTABLE));
  return errors;
}

export function applyClaimDefaults(object: KubeObject): void {
  setDefault(ensureObject(object, 'status'), 'phase', 'Pending');
  setDefault(ensureObject(object, 'spec'), 'volumeMode', 'Filesystem');
}

export const claimStrategy: Strategy = {
  allowCreateOnUpdate: false,
  allowUnconditionalUpdate: true,
  resetFields: resets(['status']),
  prepareForCreate: (_context, object) => {
    object['status'] = { phase: 'Pending' };
  },
  prepareForUpdate: (_context, object, old) => {
    keepField('status', object, old);
  },
  validateCreate: (_context, object) => validate(object),
  validateUpdate: (_context, object, old) => [...validate(object), ...updateErrors(object, old)],
};

export const claimStatusStrategy: Strategy = {
  ...claimStrategy,
  resetFields: resets(['spec']),
  prepareForUpdate: (_context, object, old) => {
    keepField('spec', object, old);
  },
  validateUpdate: (_context, object, old) => validateCoreMetaUpdate(object.metadata, old.metadata),
};
