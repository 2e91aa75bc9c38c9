import { type FieldError, FieldPath, internalError } from '../../../apimachinery/meta/field-error.js';
import type { KubeObject } from '../../../apimachinery/meta/meta.js';
import { messageOf } from '../../../util/error-message.js';
import type { FeatureGates } from '../../../util/feature-gates.js';
import type { ResourceType, Strategy } from '../../rest/interfaces.js';
import { ERROR_OF, type Marker, MARKERS } from './markers.js';
import { validateDeclaratively } from './validate.js';

/** A result of comparing the two validations. `validation` is an identifier such as `role_create`. */
export type ValidationReport =
  | ({ readonly kind: 'mismatch'; readonly validation: string } & Difference)
  | { readonly kind: 'panic'; readonly validation: string; readonly error: string };

export interface DeclarativeValidation {
  readonly gates: FeatureGates;
  readonly report: (report: ValidationReport) => void;
}

interface Checked {
  readonly validation: string;
  readonly object: KubeObject;
  readonly old: KubeObject | undefined;
}

/**
 * Runs a type's markers beside its strategies while the feature gate DeclarativeValidation is on, and reports where they differ.
 * The hand-written errors are returned unless the markers' errors replace those that they cover: with DeclarativeValidationBeta
 * those of stage beta, with DeclarativeValidationTakeover all.
 */
export function declaredType(
  type: ResourceType,
  declarative: DeclarativeValidation,
  markers = MARKERS[`${type.resource}.${type.group}`],
): ResourceType {
  if (markers === undefined) return type;
  const kind = type.kind.toLowerCase();
  const wrap = (strategy: Strategy, name: string): Strategy => declaredStrategy(strategy, name, markers, declarative);
  return {
    ...type,
    strategy: wrap(type.strategy, kind),
    subresources: Object.fromEntries(
      Object.entries(type.subresources).map(([name, strategy]) => [name, wrap(strategy, `${kind}_${name}`)]),
    ),
  };
}

function declaredStrategy(
  strategy: Strategy,
  name: string,
  markers: readonly Marker[],
  declarative: DeclarativeValidation,
): Strategy {
  return {
    ...strategy,
    validateCreate: (context, object) => {
      const errors = strategy.validateCreate(context, object);
      return compared(errors, { validation: `${name}_create`, object, old: undefined }, markers, declarative);
    },
    validateUpdate: (context, object, old) => {
      const errors = strategy.validateUpdate(context, object, old);
      return compared(errors, { validation: `${name}_update`, object, old }, markers, declarative);
    },
  };
}

function compared(
  handWritten: readonly FieldError[],
  { validation, object, old }: Checked,
  markers: readonly Marker[],
  { gates, report }: DeclarativeValidation,
): readonly FieldError[] {
  if (!gates.enabled('DeclarativeValidation')) return handWritten;
  const enforced = enforcedMarkers(markers, gates);
  try {
    const declared = validateDeclaratively(markers, object, old);
    for (const difference of differences(handWritten, declared, markers)) {
      report({ kind: 'mismatch', validation, ...difference });
    }
    if (enforced.length === 0) return handWritten;
    const isEnforced = (error: FieldError): boolean => isCovered(error, enforced);
    return [...handWritten.filter((error) => !isEnforced(error)), ...declared.filter(isEnforced)];
  } catch (error) {
    report({ kind: 'panic', validation, error: messageOf(error) });
    if (enforced.length === 0) return handWritten;
    const failure = internalError(FieldPath.empty, `panic during declarative validation: ${messageOf(error)}`);
    return [...handWritten, failure];
  }
}

/** Returns the markers whose errors replace the hand-written ones. */
function enforcedMarkers(markers: readonly Marker[], gates: FeatureGates): readonly Marker[] {
  if (gates.enabled('DeclarativeValidationTakeover')) return markers;
  return gates.enabled('DeclarativeValidationBeta') ? markers.filter(({ stage }) => stage === 'beta') : [];
}

/** An error that only one of the two validations finds. */
interface Difference {
  readonly field: string;
  readonly type: string;
  readonly foundBy: 'declarative' | 'hand-written';
}

/** Returns `rules.*.verbs` for `rules[3].verbs`. */
const placeOf = ({ field }: FieldError): string => field.replace(/\[\d+\]/g, '.*');

/** Reports whether a marker covers an error of the hand-written validation. */
const isCovered = (error: FieldError, markers: readonly Marker[]): boolean =>
  markers.some(({ path, rule }) => ERROR_OF[rule.name] === error.type && path.join('.') === placeOf(error));

/** Returns the errors that only one of the validations finds. Errors are equal if they have the same type and field; their texts may differ. */
function differences(
  handWritten: readonly FieldError[],
  declarative: readonly FieldError[],
  markers: readonly Marker[],
): Difference[] {
  if (handWritten.length + declarative.length === 0) return [];
  const covered = handWritten.filter((error) => isCovered(error, markers));
  return [
    ...onlyIn(covered, declarative).map(describe('hand-written')),
    ...onlyIn(declarative, covered).map(describe('declarative')),
  ];
}

const keyOf = ({ type, field }: FieldError): string => `${type} ${field}`;

function onlyIn(errors: readonly FieldError[], others: readonly FieldError[]): FieldError[] {
  const known = new Set(others.map(keyOf));
  return [...new Map(errors.map((error) => [keyOf(error), error])).values()].filter(
    (error) => !known.has(keyOf(error)),
  );
}

const describe =
  (foundBy: Difference['foundBy']) =>
  ({ field, type }: FieldError): Difference => ({ field, type, foundBy });
