import { type FieldError, FieldPath, notSupported } from '../../../../apimachinery/meta/field-error.js';
import { objectAt, textAt } from '../../../../apimachinery/json/json.js';
import type { KubeObject } from '../../../../apimachinery/meta/meta.js';
import { qualifiedNameErrors } from '../../../../apimachinery/validation/name-errors.js';
import { basicQuantityErrors, isNative, quantityErrors, quantityOf } from '../../shared/resources.js';

const STATUS = FieldPath.of('status');
const RESIZES = [
  'ControllerResizeInProgress',
  'ControllerResizeInfeasible',
  'NodeResizeInProgress',
  'NodeResizeInfeasible',
  'NodeResizePending',
].sort();

function keyErrors(name: string, path: FieldPath): FieldError[] {
  const errors = qualifiedNameErrors(name, path);
  if (errors.length > 0 || !isNative(name) || name === 'storage') return errors;
  return [notSupported(path, name, ['storage'])];
}

/** Validates the capacity of a claim, its allocated resources, and the status of their resizing. */
export function claimStatusErrors(claim: KubeObject): FieldError[] {
  const status = objectAt(claim, 'status');
  const capacity = objectAt(status, 'capacity') ?? {};
  const resizes = objectAt(status, 'allocatedResourceStatuses') ?? {};
  const allocated = objectAt(status, 'allocatedResources') ?? {};
  const resizesAt = STATUS.child('allocatedResourceStatuses');
  const allocatedAt = STATUS.child('allocatedResources');
  return [
    ...Object.keys(capacity).flatMap((name) => basicQuantityErrors(capacity[name], STATUS.child('capacity').key(name))),
    ...Object.keys(resizes).flatMap((name) => [
      ...keyErrors(name, resizesAt),
      // kube-apiserver reports the resource as the bad value, where it means the resize status.
      ...(RESIZES.includes(textAt(resizes, name)) ? [] : [notSupported(resizesAt, name, RESIZES)]),
    ]),
    ...Object.keys(allocated).flatMap((name) => {
      const errors = keyErrors(name, allocatedAt);
      if (errors.length > 0) return errors;
      const at = allocatedAt.key(name);
      const basic = basicQuantityErrors(allocated[name], at);
      return basic.length > 0 ? basic : quantityErrors('storage', quantityOf(allocated[name]), at);
    }),
  ];
}
