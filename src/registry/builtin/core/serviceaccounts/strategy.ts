import type { FieldError } from '../../../../apimachinery/meta/field-error.js';
import type { ServiceAccount } from '../../../../apimachinery/generated/core.js';
import { isObject } from '../../../../apimachinery/json/json.js';
import { nameIsDnsSubdomain } from '../../../../apimachinery/validation/names.js';
import type { Strategy } from '../../../rest/interfaces.js';
import { validateCoreMeta, validateCoreMetaUpdate } from '../../shared/meta.js';

const ENFORCE_MOUNTABLE_SECRETS = 'kubernetes.io/enforce-mountable-secrets';

/** Drops everything but the names from an account's references to secrets. */
function cleanSecrets(object: ServiceAccount): void {
  const { secrets } = object;
  if (!Array.isArray(secrets)) return;
  object.secrets = secrets.map((secret) => {
    const name = isObject(secret) ? secret.name : undefined;
    return name === undefined ? {} : { name };
  });
}

const validate = (object: ServiceAccount): FieldError[] =>
  validateCoreMeta(object.metadata, 'Namespaced', nameIsDnsSubdomain);

function warnings(object: ServiceAccount, old: ServiceAccount | undefined): string[] {
  const set = (account: ServiceAccount | undefined): boolean =>
    account?.metadata.annotations?.[ENFORCE_MOUNTABLE_SECRETS] !== undefined;
  if (set(old) || !set(object)) return [];
  return [
    `metadata.annotations[${ENFORCE_MOUNTABLE_SECRETS}]: deprecated in v1.32+; prefer separate namespaces to isolate access to mounted secrets`,
  ];
}

export const serviceAccountStrategy: Strategy<ServiceAccount> = {
  allowCreateOnUpdate: false,
  allowUnconditionalUpdate: true,
  prepareForCreate: (_context, object) => cleanSecrets(object),
  prepareForUpdate: (_context, object) => cleanSecrets(object),
  validateCreate: (_context, object) => validate(object),
  validateUpdate: (_context, object, old) => [
    ...validateCoreMetaUpdate(object.metadata, old.metadata),
    ...validate(object),
  ],
  warningsOnCreate: (_context, object) => warnings(object, undefined),
  warningsOnUpdate: (_context, object, old) => warnings(object, old),
};
