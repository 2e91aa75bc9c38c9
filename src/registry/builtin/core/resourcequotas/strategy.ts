import { type FieldError, FieldPath, invalid, required } from '../../../../apimachinery/meta/field-error.js';
import type { ResourceQuota } from '../../../../apimachinery/generated/core.js';
import { nameIsDnsSubdomain } from '../../../../apimachinery/validation/names.js';
import type { Strategy } from '../../../rest/interfaces.js';
import { ensureObject, keepField } from '../../shared/fields.js';
import { validateCoreMeta, validateCoreMetaUpdate } from '../../shared/meta.js';
import { quantityOf, roundQuantities } from '../../shared/resources.js';
import { resets } from '../../shared/resource-type.js';
import { amountErrors, quotaSpecErrors } from './validation.js';

const SPEC = FieldPath.of('spec');
const STATUS = FieldPath.of('status');
/** The resources whose requests should not exceed their limits. */
const ORDERED = ['cpu', 'memory', 'storage', 'ephemeral-storage'];
const BARE = new Set(['cpu', 'memory']);

const specErrors = (quota: ResourceQuota): FieldError[] => quotaSpecErrors(quota.spec ?? {}, SPEC);

function statusErrors(quota: ResourceQuota): FieldError[] {
  const status = quota.status;
  return (['hard', 'used'] as const).flatMap((part) => amountErrors(status?.[part], STATUS.child(part)));
}

function updateErrors(quota: ResourceQuota, old: ResourceQuota): FieldError[] {
  const errors = [...validateCoreMetaUpdate(quota.metadata, old.metadata), ...specErrors(quota)];
  const [now, before] = [quota, old].map((one) => one.spec?.scopes);
  const scopes = new Set(now ?? []);
  const scopesBefore = new Set(before ?? []);
  if (scopes.size !== scopesBefore.size || [...scopes].some((scope) => !scopesBefore.has(scope))) {
    errors.push(invalid(SPEC.child('scopes'), now, 'field is immutable'));
  }
  return errors;
}

function warnings(quota: ResourceQuota): string[] {
  const hard = quota.spec?.hard ?? {};
  return ORDERED.flatMap((name) => {
    const request = [`requests.${name}`, ...(BARE.has(name) ? [name] : [])].find((key) => hard[key] !== undefined);
    const limit = `limits.${name}`;
    if (request === undefined || hard[limit] === undefined) return [];
    const [asked, limited] = [quantityOf(hard[request]), quantityOf(hard[limit])];
    if (asked.compare(limited) <= 0) return [];
    return [`ResourceQuota ${request} (${asked.toString()}) should be less than ${limit} (${limited.toString()})`];
  });
}

export function applyQuotaDefaults(quota: ResourceQuota): void {
  roundQuantities(ensureObject(quota, 'spec').hard);
  const status = ensureObject(quota, 'status');
  roundQuantities(status.hard);
  roundQuantities(status.used);
}

export const quotaStrategy: Strategy<ResourceQuota> = {
  allowCreateOnUpdate: false,
  allowUnconditionalUpdate: true,
  resetFields: resets(['status']),
  prepareForCreate: (_context, object) => {
    object.status = {};
  },
  prepareForUpdate: (_context, object, old) => keepField('status', object, old),
  validateCreate: (_context, object) => [
    ...validateCoreMeta(object.metadata, 'Namespaced', nameIsDnsSubdomain),
    ...specErrors(object),
  ],
  validateUpdate: (_context, object, old) => updateErrors(object, old),
  warningsOnCreate: (_context, object) => warnings(object),
};

export const quotaStatusStrategy: Strategy<ResourceQuota> = {
  ...quotaStrategy,
  resetFields: resets(['spec']),
  prepareForUpdate: (_context, object, old) => keepField('spec', object, old),
  validateUpdate: (_context, object, old) => [
    ...validateCoreMetaUpdate(object.metadata, old.metadata),
    ...((object.metadata.resourceVersion ?? '') === '' ? [required('resourceVersion')] : []),
    ...statusErrors(object),
  ],
};
