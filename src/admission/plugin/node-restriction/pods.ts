import { newNotFound } from '../../../apimachinery/meta/errors.js';
import { deepEqual, type JsonObject, objectAt, objectsOf, textAt } from '../../../apimachinery/json/json.js';
import { type KubeObject, quote } from '../../../apimachinery/meta/meta.js';
import type { AdmissionAttributes } from '../../interfaces.js';
import type { ObjectReader } from '../../object-reader.js';
import { refusal } from '../../refusal.js';
import { apiReference } from './api-references.js';

const MIRROR_POD = 'kubernetes.io/config.mirror';

export const nodeOf = (pod: KubeObject | undefined): string => textAt(objectAt(pod, 'spec'), 'nodeName');

/** Allows a node to create its own mirror pods, to delete the pods that are bound to it, and to update their status. */
export const admitPod =
  (nodes: ObjectReader) =>
  (node: string, attributes: AdmissionAttributes): void => {
    const { subresource } = attributes;
    if (subresource === '') {
      admitWhole(nodes, node, attributes);
    } else if (subresource === 'status') {
      admitStatus(node, attributes);
    } else {
      const why = `unexpected pod subresource ${quote(subresource)}, only 'status' and 'eviction' are allowed`;
      throw refusal(attributes, why);
    }
  };

function admitWhole(nodes: ObjectReader, node: string, attributes: AdmissionAttributes): void {
  const { operation, object, oldObject } = attributes;
  if (operation === 'CREATE' && object !== undefined) {
    const why = mirrorPodProblem(nodes, node, object);
    if (why !== undefined) throw refusal(attributes, why);
    return;
  }
  if (operation !== 'DELETE') {
    const why = `unexpected operation ${quote(operation)}, node ${quote(node)} can only create and delete mirror pods`;
    throw refusal(attributes, why);
  }
  // A deletecollection: kube-apiserver looks up a pod with an empty name and finds none, so nodes cannot delete collections.
  if (attributes.name === '') throw newNotFound({ group: '', resource: 'pod' }, '');
  if (nodeOf(oldObject) !== node) {
    throw refusal(attributes, `node ${quote(node)} can only delete pods with spec.nodeName set to itself`);
  }
}

/** Returns the reason why a node must not create the pod, or undefined if it may. */
function mirrorPodProblem(nodes: ObjectReader, node: string, pod: KubeObject): string | undefined {
  const name = quote(node);
  if (pod.metadata.annotations?.[MIRROR_POD] === undefined) {
    return `pod does not have ${quote(MIRROR_POD)} annotation, node ${name} can only create mirror pods`;
  }
  if (nodeOf(pod) !== node) return `node ${name} can only create pods with spec.nodeName set to itself`;
  const owners = objectsOf(pod.metadata.ownerReferences);
  if (owners.length > 1) return `node ${name} can only create pods with a single owner reference set to itself`;
  const why = ownerProblem(nodes, node, owners[0]);
  if (why !== undefined) return why;
  const reference = apiReference(pod);
  if (reference === undefined) return undefined;
  if (reference.error !== undefined) return `error checking mirror pod for API references: ${reference.error}`;
  return `node ${name} can not create pods that reference ${reference.resource}`;
}

function ownerProblem(nodes: ObjectReader, node: string, owner: JsonObject | undefined): string | undefined {
  const name = quote(node);
  const own = owner?.['apiVersion'] === 'v1' && owner['kind'] === 'Node' && owner['name'] === node;
  if (owner === undefined || !own) return `node ${name} can only create pods with an owner reference set to itself`;
  if (owner['controller'] !== true) {
    return `node ${name} can only create pods with a controller owner reference set to itself`;
  }
  if (owner['blockOwnerDeletion'] === true) {
    return `node ${name} must not set blockOwnerDeletion on an owner reference`;
  }
  const known = nodes.cached('', node);
  if (known === undefined) throw newNotFound({ group: '', resource: 'node' }, node);
  const uid = textAt(owner, 'uid');
  const expected = known.metadata.uid ?? '';
  // As in kube-apiserver, the owner reference's UID is reported as the expected one.
  return uid === expected ? undefined : `node ${node} UID mismatch: expected ${uid} got ${expected}`;
}

function admitStatus(node: string, attributes: AdmissionAttributes): void {
  const { operation, object, oldObject } = attributes;
  const name = quote(node);
  if (operation !== 'UPDATE') throw refusal(attributes, `unexpected operation ${quote(operation)}`);
  if (nodeOf(oldObject) !== node) {
    throw refusal(attributes, `node ${name} can only update pod status for pods with spec.nodeName set to itself`);
  }
  if (!deepEqual(object?.metadata.labels ?? {}, oldObject?.metadata.labels ?? {})) {
    throw refusal(attributes, `node ${name} cannot update labels through pod status`);
  }
  const status = objectAt(object, 'status') ?? {};
  const oldStatus = objectAt(oldObject, 'status') ?? {};
  if (!deepEqual(status['resourceClaimStatuses'] ?? [], oldStatus['resourceClaimStatuses'] ?? [])) {
    throw refusal(attributes, `node ${name} cannot update resource claim statues`);
  }
  if (!deepEqual(status['extendedResourceClaimStatus'], oldStatus['extendedResourceClaimStatus'])) {
    throw refusal(attributes, `node ${name} cannot update extended resource claim status`);
  }
}
