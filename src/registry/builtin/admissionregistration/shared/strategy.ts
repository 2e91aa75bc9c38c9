import { FieldPath, type FieldError } from '../../../../apimachinery/meta/field-error.js';
import type { KubeObject } from '../../../../apimachinery/meta/meta.js';
import type { Strategy } from '../../../rest/interfaces.js';
import { noop } from '../../shared/resource-type.js';
import { Objections, paramKindObjection, paramRefObjection, type ParamAccess } from './param-access.js';
import { staticSuffixWarnings } from './static-suffix.js';

/** The differences between the kinds of policies and bindings. */
interface PolicyStrategyOptions {
  readonly validate: (object: KubeObject, old: KubeObject | undefined) => readonly FieldError[];
  readonly prepareForCreate?: (object: KubeObject) => void;
  readonly prepareForUpdate?: (object: KubeObject, old: KubeObject) => void;
  readonly resetFields?: Strategy['resetFields'];
}

type AccessCheck = (
  user: Parameters<typeof paramKindObjection>[1],
  object: KubeObject,
  old: KubeObject | undefined,
) => Promise<string | undefined>;

function strategy(kind: PolicyStrategyOptions, field: string, ask: AccessCheck): Strategy {
  const objections = new Objections(FieldPath.of('spec', field));
  return {
    allowCreateOnUpdate: false,
    allowUnconditionalUpdate: false,
    hasGeneration: true,
    guard: ({ user }, object, old) => objections.note(object, ask(user, object, old)),
    prepareForCreate: (_context, object) => kind.prepareForCreate?.(object),
    prepareForUpdate: (_context, object, old) => kind.prepareForUpdate?.(object, old),
    validateCreate: (_context, object) => objections.add(kind.validate(object, undefined), object),
    validateUpdate: (_context, object, old) => objections.add(kind.validate(object, old), object),
    warningsOnCreate: (_context, object) => staticSuffixWarnings(object),
    warningsOnUpdate: (_context, object) => staticSuffixWarnings(object),
    canonicalize: noop,
    ...(kind.resetFields !== undefined && { resetFields: kind.resetFields }),
  };
}

/** Returns the strategy of a kind of policies. */
export const policyStrategy = (kind: PolicyStrategyOptions, access: ParamAccess): Strategy =>
  strategy(kind, 'paramKind', (user, policy, old) => paramKindObjection(access, user, policy, old));

/** Returns the strategy of the bindings to a kind of policies. */
export const bindingStrategy = (kind: PolicyStrategyOptions, policyKind: string, access: ParamAccess): Strategy =>
  strategy(kind, 'paramRef', (user, binding, old) => paramRefObjection(access, policyKind, user, binding, old));
