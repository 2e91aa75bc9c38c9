import { FieldPath, type FieldError } from '../../../../apimachinery/meta/field-error.js';
import type { KubeObject } from '../../../../apimachinery/meta/meta.js';
import type { Strategy } from '../../../rest/interfaces.js';
import type { UserInfo } from '../../../../authentication/user/user.js';
import { Objections, paramKindObjection, paramRefObjection, type ParamAccess } from './param-access.js';
import { staticSuffixWarnings } from './static-suffix.js';

type Validate = (object: KubeObject, old: KubeObject | undefined) => readonly FieldError[];
type AccessCheck = (user: UserInfo, object: KubeObject, old: KubeObject | undefined) => Promise<string | undefined>;

function strategy(validate: Validate, field: string, ask: AccessCheck): Strategy {
  const objections = new Objections(FieldPath.of('spec', field));
  return {
    allowCreateOnUpdate: false,
    allowUnconditionalUpdate: false,
    hasGeneration: true,
    guard: ({ user }, object, old) => objections.note(object, ask(user, object, old)),
    validateCreate: (_context, object) => objections.add(validate(object, undefined), object),
    validateUpdate: (_context, object, old) => objections.add(validate(object, old), object),
    warningsOnCreate: (_context, object) => staticSuffixWarnings(object),
    warningsOnUpdate: (_context, object) => staticSuffixWarnings(object),
  };
}

/** Returns the strategy of a kind of policies. */
export const policyStrategy = (validate: Validate, access: ParamAccess): Strategy =>
  strategy(validate, 'paramKind', (user, policy, old) => paramKindObjection(access, user, policy, old));

/** Returns the strategy of the bindings to a kind of policies. */
export const bindingStrategy = (validate: Validate, policyKind: string, access: ParamAccess): Strategy =>
  strategy(validate, 'paramRef', (user, binding, old) => paramRefObjection(access, policyKind, user, binding, old));
