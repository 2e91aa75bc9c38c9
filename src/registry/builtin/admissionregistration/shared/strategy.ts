import { FieldPath, type FieldError, invalid } from '../../../../apimachinery/meta/field-error.js';
import { type KubeObject, quote } from '../../../../apimachinery/meta/meta.js';
import type { Strategy } from '../../../rest/interfaces.js';
import { featureGates } from '../../../../util/feature-gates.js';
import type { UserInfo } from '../../../../authentication/user/user.js';
import { Objections, paramKindObjection, paramRefObjection, type ParamAccess } from './param-access.js';

type Validate = (object: KubeObject, old: KubeObject | undefined) => readonly FieldError[];
type AccessCheck = (user: UserInfo, object: KubeObject, old: KubeObject | undefined) => Promise<string | undefined>;

export const STATIC_SUFFIX = '.static.k8s.io';

const RESERVED = `names ending with ${quote(STATIC_SUFFIX)} are reserved for static manifest-based configurations and cannot be managed via the API`;

const isReserved = ({ metadata }: KubeObject): boolean => (metadata.name ?? '').endsWith(STATIC_SUFFIX);

/** Returns the warning for names that are reserved for configurations from files. Such objects may be left over from older versions. */
const staticSuffixWarnings = (object: KubeObject): readonly string[] =>
  isReserved(object) ? [`metadata.name: ${RESERVED}`] : [];

/** Refuses new objects with a name that is reserved for configurations from files. */
function staticSuffixErrors(object: KubeObject): FieldError[] {
  if (!featureGates.enabled('ManifestBasedAdmissionControlConfig') || !isReserved(object)) return [];
  return [invalid(FieldPath.of('metadata', 'name'), object.metadata.name ?? '', RESERVED)];
}

/** Returns what the strategies of admissionregistration.k8s.io have in common. */
export const admissionStrategy = (validate: Validate): Strategy => ({
  allowCreateOnUpdate: false,
  allowUnconditionalUpdate: false,
  hasGeneration: true,
  validateCreate: (_context, object) => [...validate(object, undefined), ...staticSuffixErrors(object)],
  validateUpdate: (_context, object, old) => validate(object, old),
  // A new object with such a name is refused.
  warningsOnCreate: (_context, object) =>
    featureGates.enabled('ManifestBasedAdmissionControlConfig') ? [] : staticSuffixWarnings(object),
  warningsOnUpdate: (_context, object) => staticSuffixWarnings(object),
});

function checkedStrategy(validate: Validate, field: string, ask: AccessCheck): Strategy {
  const objections = new Objections(FieldPath.of('spec', field));
  return {
    ...admissionStrategy((object, old) => objections.add(validate(object, old), object)),
    checkEscalation: ({ user }, object, old) => objections.note(object, ask(user, object, old)),
  };
}

/** Returns the strategy of a kind of policies. */
export const policyStrategy = (validate: Validate, access: ParamAccess): Strategy =>
  checkedStrategy(validate, 'paramKind', (user, policy, old) => paramKindObjection(access, user, policy, old));

/** Returns the strategy of the bindings to a kind of policies. */
export const bindingStrategy = (validate: Validate, policyKind: string, access: ParamAccess): Strategy =>
  checkedStrategy(validate, 'paramRef', (user, binding, old) =>
    paramRefObjection(access, policyKind, user, binding, old),
  );
