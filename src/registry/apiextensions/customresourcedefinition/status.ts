import { isConditionTrue, transitionTime } from '../../../apimachinery/meta/conditions.js';
import { type JsonObject, deepEqual, isObject, objectAt, textAt } from '../../../apimachinery/json/json.js';
import { aggregate, FieldPath, invalid } from '../../../apimachinery/meta/field-error.js';
import { type KubeObject, quote } from '../../../apimachinery/meta/meta.js';
import { aggregateTexts } from '../../../authorization/authorizer/results.js';
import { isStructuralInSteps, structuralError, validateStructural } from '../../../schema/structural.js';
import { approvalState, isProtectedGroup } from './validation/approval.js';
import { caBundleFault } from './validation/ca-bundle.js';
import { type InternalNames, namesOf, objectsAt } from './internal.js';

/** The finalizer that keeps a definition until its objects are gone. */
export const CLEANUP_FINALIZER = 'customresourcecleanup.apiextensions.k8s.io';

export type ConditionType =
  'Established' | 'NamesAccepted' | 'NonStructuralSchema' | 'Terminating' | 'KubernetesAPIApprovalPolicyConformant';

export interface Condition {
  readonly type: ConditionType;
  readonly status: 'True' | 'False' | 'Unknown';
  readonly reason: string;
  readonly message: string;
}

export function findCondition(crd: KubeObject, type: ConditionType): JsonObject | undefined {
  return objectsAt(objectAt(crd, 'status'), 'conditions').find((condition) => condition['type'] === type);
}

/**
 * Returns the definition with a condition set. Its transition time changes only with its status. Returns the same definition if
 * nothing changes.
 */
function setCondition(crd: KubeObject, condition: Condition, now: number): KubeObject {
  const status = objectAt(crd, 'status') ?? {};
  const conditions = objectsAt(status, 'conditions');
  const old = conditions.find((other) => other['type'] === condition.type);
  const { type, reason, message } = condition;
  const lastTransitionTime = transitionTime(old, condition.status, now);
  const set: JsonObject = { type, status: condition.status, lastTransitionTime, reason, message };
  if (old !== undefined && deepEqual(old, set)) return crd;
  const next = old === undefined ? [...conditions, set] : conditions.map((other) => (other === old ? set : other));
  return { ...crd, status: { ...status, conditions: next } };
}

function removeCondition(crd: KubeObject, type: ConditionType): KubeObject {
  const status = objectAt(crd, 'status') ?? {};
  const conditions = objectsAt(status, 'conditions');
  const next = conditions.filter((condition) => condition['type'] !== type);
  return next.length === conditions.length ? crd : { ...crd, status: { ...status, conditions: next } };
}

/** Returns the wanted or accepted names of a definition as JSON, without empty ones. */
function namesJson(names: InternalNames): JsonObject {
  return {
    plural: names.plural,
    ...(names.singular === '' ? {} : { singular: names.singular }),
    ...(names.shortNames.length === 0 ? {} : { shortNames: [...names.shortNames] }),
    kind: names.kind,
    ...(names.listKind === '' ? {} : { listKind: names.listKind }),
    ...(names.categories.length === 0 ? {} : { categories: [...names.categories] }),
  };
}

const acceptedNamesOf = (crd: KubeObject): InternalNames => namesOf(objectAt(objectAt(crd, 'status'), 'acceptedNames'));

/**
 * Accepts the names that a definition asks for unless another definition of its group has them. Sets the condition NamesAccepted
 * and, until the definition is established, Established. `others` are the other definitions; those of other groups are ignored.
 * Returns the same definition if nothing changes.
 */
export function computeNamesAccepted(crd: KubeObject, others: readonly KubeObject[], now: number): KubeObject {
  const spec = objectAt(crd, 'spec');
  const wanted = namesOf(objectAt(spec, 'names'));
  const accepted = acceptedNamesOf(crd);
  if (deepEqual(namesJson(wanted), namesJson(accepted)) && findCondition(crd, 'NamesAccepted') !== undefined)
    return crd;
  const resources = new Set<string>();
  const kinds = new Set<string>();
  for (const other of [crd, ...others]) {
    if (objectAt(other, 'spec')?.['group'] !== spec?.['group']) continue;
    const names = acceptedNamesOf(other);
    for (const name of [names.plural, names.singular, ...names.shortNames]) resources.add(name);
    kinds.add(names.kind).add(names.listKind);
  }
  const conflicts: { reason: string; message: string }[] = [];
  const settle = (want: string, have: string, taken: ReadonlySet<string>, reason: string): string => {
    if (want === have || !taken.has(want)) return want;
    conflicts.push({ reason, message: inUse(want) });
    return have;
  };
  const names: InternalNames = {
    plural: settle(wanted.plural, accepted.plural, resources, 'PluralConflict'),
    singular: settle(wanted.singular, accepted.singular, resources, 'SingularConflict'),
    shortNames: settleShortNames(wanted.shortNames, accepted.shortNames, resources, conflicts),
    kind: settle(wanted.kind, accepted.kind, kinds, 'KindConflict'),
    listKind: settle(wanted.listKind, accepted.listKind, kinds, 'ListKindConflict'),
    categories: wanted.categories,
  };
  const status = objectAt(crd, 'status') ?? {};
  const named: KubeObject = deepEqual(namesJson(names), namesJson(accepted))
    ? crd
    : { ...crd, status: { ...status, acceptedNames: namesJson(names) } };
  // Report the last conflict.
  const conflict = conflicts.at(-1);
  const condition: Condition =
    conflict === undefined
      ? { type: 'NamesAccepted', status: 'True', reason: 'NoConflicts', message: 'no conflicts found' }
      : { type: 'NamesAccepted', status: 'False', ...conflict };
  return setInitialEstablished(setCondition(named, condition, now), conflict === undefined, now);
}

const inUse = (name: string): string => `${quote(name)} is already in use`;

function settleShortNames(
  wanted: readonly string[],
  accepted: readonly string[],
  taken: ReadonlySet<string>,
  conflicts: { reason: string; message: string }[],
): readonly string[] {
  const lost = wanted.filter((name) => !accepted.includes(name) && name !== '' && taken.has(name));
  if (lost.length === 0) return wanted;
  conflicts.push({ reason: 'ShortNamesConflict', message: aggregateTexts(lost.map(inUse)) });
  return accepted;
}

function setInitialEstablished(crd: KubeObject, accepted: boolean, now: number): KubeObject {
  const old = findCondition(crd, 'Established');
  if (old?.['status'] === 'True') return crd;
  if (accepted) {
    const message = 'the initial names have been accepted';
    return setCondition(crd, { type: 'Established', status: 'False', reason: 'Installing', message }, now);
  }
  if (old !== undefined) return crd;
  const message = 'not all names are accepted';
  return setCondition(crd, { type: 'Established', status: 'False', reason: 'NotAccepted', message }, now);
}

/**
 * Establishes a definition whose names are accepted, permanently, and updates the conditions for its schemas and its approval.
 * `judge` returns the condition for schemas that are not structural. Returns the same definition if nothing changes.
 */
export function establish(crd: KubeObject, now: number, judge = nonStructuralCondition): KubeObject {
  const structural = judge(crd);
  let next = crd;
  if (isConditionTrue(crd, 'NamesAccepted') && !isConditionTrue(crd, 'Established')) {
    const webhook = objectAt(objectAt(objectAt(crd, 'spec'), 'conversion'), 'webhook');
    const bundle = objectAt(webhook, 'clientConfig')?.['caBundle'];
    const broken = typeof bundle === 'string' && caBundleFault(bundle) !== undefined;
    next = setCondition(next, broken ? INVALID_CA_BUNDLE : ESTABLISHED, now);
  }
  next = structural === undefined ? removeCondition(next, 'NonStructuralSchema') : setCondition(next, structural, now);
  const approval = approvalCondition(next);
  return approval === undefined ? next : setCondition(next, approval, now);
}

const ESTABLISHED: Condition = {
  type: 'Established',
  status: 'True',
  reason: 'InitialNamesAccepted',
  message: 'the initial names have been accepted',
};
const INVALID_CA_BUNDLE: Condition = {
  type: 'Established',
  status: 'False',
  reason: 'InvalidCABundle',
  message: 'The conversion webhook CABundle is invalid',
};

/** Returns the condition for stored schemas that are not structural, or undefined if all are. New definitions are always structural. */
function nonStructuralCondition(crd: KubeObject): Condition | undefined {
  const spec = objectAt(crd, 'spec');
  const errors =
    spec?.['preserveUnknownFields'] === true
      ? [invalid(FieldPath.of('spec', 'preserveUnknownFields'), true, 'must be false')]
      : [];
  for (const [i, version] of objectsAt(spec, 'versions').entries()) {
    const schema = objectAt(version, 'schema')?.['openAPIV3Schema'];
    if (!isObject(schema)) continue;
    const fault = structuralError(schema);
    if (fault !== undefined) {
      const message = `failed to check validation schema for version ${textAt(version, 'name')}: ${fault}`;
      return { type: 'NonStructuralSchema', status: 'Unknown', reason: 'StructuralError', message };
    }
    const path = FieldPath.of('spec', 'versions').index(i).child('schema', 'openAPIV3Schema');
    errors.push(...validateStructural(schema, path));
  }
  if (errors.length === 0) return undefined;
  return { type: 'NonStructuralSchema', status: 'True', reason: 'Violations', message: aggregate(errors) };
}

/** Computes the condition in steps, for large definitions. There rarely is one. */
export function* nonStructuralConditionSliced(crd: KubeObject): Generator<undefined, Condition | undefined> {
  const spec = objectAt(crd, 'spec');
  if (spec?.['preserveUnknownFields'] === true) return nonStructuralCondition(crd);
  for (const version of objectsAt(spec, 'versions')) {
    const schema = objectAt(version, 'schema')?.['openAPIV3Schema'];
    if (isObject(schema) && !(yield* isStructuralInSteps(schema))) return nonStructuralCondition(crd);
  }
  return undefined;
}

const APPROVAL_CONDITIONS = {
  invalid: { status: 'False', reason: 'InvalidAnnotation' },
  missing: { status: 'False', reason: 'MissingAnnotation' },
  approved: { status: 'True', reason: 'ApprovedAnnotation' },
  bypassed: { status: 'False', reason: 'UnapprovedAnnotation' },
} as const;

/** Returns the condition for whether the API of a definition was approved, for the groups that belong to Kubernetes. */
function approvalCondition(crd: KubeObject): Condition | undefined {
  const group = objectAt(crd, 'spec')?.['group'];
  if (typeof group !== 'string' || !isProtectedGroup(group)) return undefined;
  const { state, reason } = approvalState(crd);
  return { type: 'KubernetesAPIApprovalPolicyConformant', ...APPROVAL_CONDITIONS[state], message: reason };
}

/** The steps of a definition's removal, as reasons of its Terminating condition. */
export type TerminatingReason =
  | 'InstanceDeletionPending'
  | 'InstanceDeletionInProgress'
  | 'InstanceDeletionFailed'
  | 'InstanceDeletionCheck'
  | 'InstanceDeletionCompleted'
  | 'OverlappingBuiltInResource'
  | 'NeverEstablished';

const TERMINATING: Readonly<Record<TerminatingReason, readonly ['True' | 'False', string]>> = {
  InstanceDeletionPending: [
    'True',
    'CustomResourceDefinition marked for deletion; CustomResource deletion will begin soon',
  ],
  InstanceDeletionInProgress: ['True', 'CustomResource deletion is in progress'],
  InstanceDeletionFailed: ['True', 'could not issue all deletes'],
  InstanceDeletionCheck: ['True', 'could not confirm zero CustomResources remaining'],
  InstanceDeletionCompleted: ['False', 'removed all instances'],
  OverlappingBuiltInResource: ['False', 'instances overlap with built-in resources in storage'],
  NeverEstablished: ['False', 'resource was never established'],
};

/** `why` is appended to the messages of failures. */
export function setTerminating(crd: KubeObject, now: number, reason: TerminatingReason, why?: string): KubeObject {
  const [status, text] = TERMINATING[reason];
  const message = why === undefined ? text : `${text}: ${why}`;
  return setCondition(crd, { type: 'Terminating', status, reason, message }, now);
}
