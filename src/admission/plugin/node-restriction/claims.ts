import { deepEqual, type JsonObject, objectAt } from '../../../apimachinery/json/json.js';
import { type KubeObject, quote } from '../../../apimachinery/meta/meta.js';
import { internalDiff } from '../../../apimachinery/scheme/internal-diff.js';
import type { AdmissionAttributes } from '../../interfaces.js';
import { refusal } from '../../refusal.js';

/** The status fields that a kubelet may write when it resizes the volume of a claim. */
const NODE_WRITABLE_STATUS_FIELDS = ['capacity', 'conditions', 'allocatedResourceStatuses', 'allocatedResources'];

function withoutNodeWritableFields(claim: KubeObject | undefined): JsonObject {
  const { resourceVersion: _version, managedFields: _fields, ...metadata } = claim?.metadata ?? {};
  const status = Object.entries(objectAt(claim, 'status') ?? {}).filter(
    ([key]) => !NODE_WRITABLE_STATUS_FIELDS.includes(key),
  );
  const { apiVersion: _apiVersion, kind: _kind, ...rest } = claim ?? {};
  // kube-apiserver's internal object has no apiVersion and kind.
  return { ...rest, metadata, status: Object.fromEntries(status) };
}

/** Allows a node to update the status of a claim with the progress of a resize. */
export function admitClaim(node: string, attributes: AdmissionAttributes): void {
  const { operation, subresource, object, oldObject } = attributes;
  if (subresource !== 'status') throw refusal(attributes, 'may only update PVC status');
  if (operation !== 'UPDATE') throw refusal(attributes, `unexpected operation ${quote(operation)}`);
  const before = withoutNodeWritableFields(oldObject);
  const after = withoutNodeWritableFields(object);
  if (deepEqual(before, after)) return;
  const diff = internalDiff('PersistentVolumeClaim', before, after);
  const what = 'is not allowed to update fields other than status.quantity and status.conditions';
  throw refusal(attributes, `node ${quote(node)} ${what}: ${diff}`);
}
