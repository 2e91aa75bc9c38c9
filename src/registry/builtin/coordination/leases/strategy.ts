import { type FieldError, FieldPath, forbidden, invalid } from '../../../../apimachinery/meta/field-error.js';
import type { Lease } from '../../../../apimachinery/generated/coordination.js';
import { qualifiedNameErrors } from '../../../../apimachinery/validation/name-errors.js';
import { nameIsDnsSubdomain } from '../../../../apimachinery/validation/names.js';
import { validateObjectMeta, validateObjectMetaUpdate } from '../../../../apimachinery/validation/object-meta.js';
import type { Strategy } from '../../../rest/interfaces.js';
import { choiceIfSet, notNegative } from '../../shared/checks.js';

const SPEC = FieldPath.of('spec');
const STRATEGIES = ['OldestEmulationVersion'];

/** The fields of coordinated leader election. Only an object that already has them may keep them. */
const COORDINATED = ['strategy', 'preferredHolder'] as const;

function dropCoordinated(object: Lease, old: Lease | undefined): void {
  const spec = object.spec;
  if (spec === undefined) return;
  const before = old?.spec;
  const kept = { ...spec };
  for (const field of COORDINATED) if (before?.[field] === undefined) delete kept[field];
  object.spec = kept;
}

function strategyErrors(strategy: string): FieldError[] {
  const path = SPEC.child('strategy').child('strategy');
  if (strategy.includes('/')) return qualifiedNameErrors(strategy, path);
  return choiceIfSet(strategy, path, STRATEGIES);
}

function specErrors(object: Lease): FieldError[] {
  const spec = object.spec;
  if (spec === undefined) return [];
  const errors: FieldError[] = [];
  const { leaseDurationSeconds, leaseTransitions, strategy, preferredHolder } = spec;
  if (typeof leaseDurationSeconds === 'number' && leaseDurationSeconds <= 0) {
    errors.push(invalid(SPEC.child('leaseDurationSeconds'), leaseDurationSeconds, 'must be greater than 0'));
  }
  errors.push(...notNegative(leaseTransitions, SPEC.child('leaseTransitions')));
  if (typeof strategy === 'string') errors.push(...strategyErrors(strategy));
  const wantsHolder = typeof preferredHolder === 'string' && preferredHolder !== '';
  if (wantsHolder && (strategy === undefined || strategy === '')) {
    errors.push(forbidden(SPEC.child('preferredHolder'), 'may only be specified if `strategy` is defined'));
  }
  return errors;
}

export const leaseStrategy: Strategy<Lease> = {
  allowCreateOnUpdate: true,
  allowUnconditionalUpdate: false,
  prepareForCreate: (_context, object) => dropCoordinated(object, undefined),
  prepareForUpdate: (_context, object, old) => dropCoordinated(object, old),
  validateCreate: (_context, object) => [
    ...validateObjectMeta(object.metadata, 'Namespaced', nameIsDnsSubdomain),
    ...specErrors(object),
  ],
  validateUpdate: (_context, object, old) => [
    ...validateObjectMetaUpdate(object.metadata, old.metadata),
    ...specErrors(object),
  ],
};
