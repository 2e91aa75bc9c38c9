import { userInfoJson } from '../../../../authentication/user/user.js';
import type * as certificates from '../../../../apimachinery/generated/certificates.js';
import { formatTime } from '../../../../apimachinery/meta/meta.js';
import type { RequestContext } from '../../../../request/context.js';
import type { Strategy } from '../../../rest/interfaces.js';
import { keepField } from '../../shared/fields.js';
import { resets } from '../../shared/resource-type.js';
import { APPROVED, conditionType, DENIED } from './conditions.js';
import { validateSigningRequest, validateSigningRequestUpdate, type WriteRights } from './validation.js';

/** Sets the requester to the request's user, whatever the object claims. */
function nameRequester({ user }: RequestContext, object: certificates.CertificateSigningRequest): void {
  const {
    username: _n,
    uid: _u,
    groups: _g,
    extra: _e,
    ...spec
  }: certificates.CertificateSigningRequestSpec = object.spec ?? {};
  object.spec = {
    ...spec,
    ...userInfoJson(user),
  };
}

const missing = (
  condition: certificates.CertificateSigningRequestCondition,
  field: 'lastUpdateTime' | 'lastTransitionTime',
): boolean => !condition[field];

/** Sets the missing times of conditions. A condition whose status is unchanged keeps its transition time. */
function stampConditions(
  { receivedAt }: RequestContext,
  object: certificates.CertificateSigningRequest,
  old: certificates.CertificateSigningRequest,
): void {
  const now = formatTime(receivedAt);
  const before = old.status?.conditions ?? [];
  for (const condition of object.status?.conditions ?? []) {
    if (missing(condition, 'lastUpdateTime')) condition.lastUpdateTime = now;
    if (!missing(condition, 'lastTransitionTime')) continue;
    const same = before.find(
      (other) =>
        conditionType(other) === conditionType(condition) &&
        other.status === condition.status &&
        !missing(other, 'lastTransitionTime'),
    );
    condition.lastTransitionTime = same === undefined ? now : (same.lastTransitionTime ?? now);
  }
}

/** Restores the conditions of a type, unless some were added or removed, which validation rejects. */
function preserveConditions(
  object: certificates.CertificateSigningRequest,
  old: certificates.CertificateSigningRequest,
  type: string,
): void {
  const before = (old.status?.conditions ?? []).filter((condition) => conditionType(condition) === type);
  const conditions = object.status?.conditions ?? [];
  const places = conditions.flatMap((condition, i) => (conditionType(condition) === type ? [i] : []));
  if (places.length !== before.length) return;
  places.forEach((place, i) => {
    const condition = before[i];
    if (condition !== undefined) conditions[place] = { ...condition };
  });
}

const base: Omit<
  Strategy<certificates.CertificateSigningRequest>,
  'prepareForUpdate' | 'validateUpdate' | 'resetFields'
> = {
  allowCreateOnUpdate: false,
  allowUnconditionalUpdate: true,
  prepareForCreate: (context, object) => {
    nameRequester(context, object);
    object.status = {};
  },
  validateCreate: (_context, object) => validateSigningRequest(object),
};

const validateUpdate =
  (rights: WriteRights): Strategy<certificates.CertificateSigningRequest>['validateUpdate'] =>
  (_context, object, old) =>
    validateSigningRequestUpdate(object, old, rights);

/** The strategy of the object itself: only its metadata can be changed. */
export const signingRequestStrategy: Strategy<certificates.CertificateSigningRequest> = {
  ...base,
  prepareForUpdate: (_context, object, old) => {
    keepField('spec', object, old);
    keepField('status', object, old);
  },
  validateUpdate: validateUpdate({ approval: false, certificate: false }),
  resetFields: resets(['spec'], ['status']),
};

/** The strategy for signers: they write the certificate, and all conditions except approval and denial. */
export const signingRequestStatusStrategy: Strategy<certificates.CertificateSigningRequest> = {
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
export const signingRequestApprovalStrategy: Strategy<certificates.CertificateSigningRequest> = {
  ...base,
  prepareForUpdate: (context, object, old) => {
    stampConditions(context, object, old);
    const conditions = object.status?.conditions;
    keepField('spec', object, old);
    const { conditions: _c, ...status }: certificates.CertificateSigningRequestStatus = old.status ?? {};
    object.status = conditions === undefined ? status : { ...status, conditions };
  },
  validateUpdate: validateUpdate({ approval: true, certificate: false }),
  resetFields: resets(['spec'], ['status', 'certificate']),
};
