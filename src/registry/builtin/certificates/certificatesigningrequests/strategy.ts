import { userInfoJson } from '../../../../authentication/user/user.js';
import type { CertificateSigningRequest } from '../../../../apimachinery/generated/certificates.js';
import { isObject, type JsonObject, objectAt, stringAt, textAt } from '../../../../apimachinery/json/json.js';
import { formatTime, type KubeObject } from '../../../../apimachinery/meta/meta.js';
import type { RequestContext } from '../../../../request/context.js';
import type { Strategy } from '../../../rest/interfaces.js';
import { keepField } from '../../shared/fields.js';
import { resets } from '../../shared/resource-type.js';
import { APPROVED, conditionType, DENIED } from './conditions.js';
import { conditionsOf } from '../../../../apimachinery/meta/conditions.js';
import { validateSigningRequest, validateSigningRequestUpdate, type WriteRights } from './validation.js';

/** Sets the requester to the request's user, whatever the object claims. */
function nameRequester({ user }: RequestContext, object: CertificateSigningRequest): void {
  const { username: _n, uid: _u, groups: _g, extra: _e, ...spec } = objectAt(object, 'spec') ?? {};
  object['spec'] = {
    ...spec,
    ...userInfoJson(user),
  };
}

const missing = (condition: JsonObject, field: string): boolean => textAt(condition, field) === '';

/** Sets the missing times of conditions. A condition whose status is unchanged keeps its transition time. */
function stampConditions({ receivedAt }: RequestContext, object: CertificateSigningRequest, old: CertificateSigningRequest): void {
  const now = formatTime(receivedAt);
  const before = conditionsOf(old);
  for (const condition of conditionsOf(object)) {
    if (missing(condition, 'lastUpdateTime')) condition['lastUpdateTime'] = now;
    if (!missing(condition, 'lastTransitionTime')) continue;
    const same = before.find(
      (other) =>
        conditionType(other) === conditionType(condition) &&
        stringAt(other, 'status') === stringAt(condition, 'status') &&
        !missing(other, 'lastTransitionTime'),
    );
    condition['lastTransitionTime'] = same === undefined ? now : (stringAt(same, 'lastTransitionTime') ?? now);
  }
}

/** Restores the conditions of a type, unless some were added or removed, which validation rejects. */
function preserveConditions(object: CertificateSigningRequest, old: CertificateSigningRequest, type: string): void {
  const before = conditionsOf(old).filter((condition) => conditionType(condition) === type);
  const conditions = objectAt(object, 'status')?.['conditions'];
  if (!Array.isArray(conditions)) return;
  const places = conditions.flatMap((condition, i) =>
    isObject(condition) && conditionType(condition) === type ? [i] : [],
  );
  if (places.length !== before.length) return;
  places.forEach((place, i) => {
    const condition = before[i];
    if (condition !== undefined) conditions[place] = { ...condition };
  });
}

const base: Omit<Strategy<CertificateSigningRequest>, 'prepareForUpdate' | 'validateUpdate' | 'resetFields'> = {
  allowCreateOnUpdate: false,
  allowUnconditionalUpdate: true,
  prepareForCreate: (context, object) => {
    nameRequester(context, object);
    object['status'] = {};
  },
  validateCreate: (_context, object) => validateSigningRequest(object),
};

const validateUpdate =
  (rights: WriteRights): Strategy<CertificateSigningRequest>['validateUpdate'] =>
  (_context, object, old) =>
    validateSigningRequestUpdate(object, old, rights);

/** The strategy of the object itself: only its metadata can be changed. */
export const signingRequestStrategy: Strategy<CertificateSigningRequest> = {
  ...base,
  prepareForUpdate: (_context, object, old) => {
    keepField('spec', object, old);
    keepField('status', object, old);
  },
  validateUpdate: validateUpdate({ approval: false, certificate: false }),
  resetFields: resets(['spec'], ['status']),
};

/** The strategy for signers: they write the certificate, and all conditions except approval and denial. */
export const signingRequestStatusStrategy: Strategy<CertificateSigningRequest> = {
  ...base,
  prepareForUpdate: (context, object, old) => {
    keepField('spec', object, old);
    preserveConditions(object, old, APPROVED);
    preserveConditions(object, old, DENIED);
    stampConditions(context, object, old);
  },
  validateUpdate: validateUpdate({ approval: false, certificate: true }),
  resetFields: resets(['spec'], ['status', 'conditions']),
};

/** The strategy for approvers: they write only conditions. */
export const signingRequestApprovalStrategy: Strategy<CertificateSigningRequest> = {
  ...base,
  prepareForUpdate: (context, object, old) => {
    stampConditions(context, object, old);
    const conditions = objectAt(object, 'status')?.['conditions'];
    keepField('spec', object, old);
    const { conditions: _c, ...status } = objectAt(old, 'status') ?? {};
    object['status'] = conditions === undefined ? status : { ...status, conditions };
  },
  validateUpdate: validateUpdate({ approval: true, certificate: false }),
  resetFields: resets(['spec'], ['status', 'certificate']),
};
