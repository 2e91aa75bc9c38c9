import { objectAt, textAt, deepEqual, type JsonObject } from '../../../apimachinery/json/json.js';
import { quote, type KubeObject } from '../../../apimachinery/meta/meta.js';
import type { Authorizer } from '../../../authorization/authorizer/interfaces.js';
import { nodeIdentity } from '../../../authorization/node/node-authorizer.js';
import { CertificateRequestError, parseCertificateRequest } from '../../../pki/certificate-request.js';
import type { AdmissionAttributes, AdmissionPlugin } from '../../interfaces.js';
import type { ObjectReader } from '../../object-reader.js';
import { refusal } from '../../refusal.js';
import { admitNode } from './nodes.js';
import { admitPod } from './pods.js';
import { admitToken } from './tokens.js';
import type { MaybePromise } from '../../../util/maybe-promise.js';
import { internalDiff } from '../../../apimachinery/scheme/internal-diff.js';

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
function admitClaim(node: string, attributes: AdmissionAttributes): void {
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

export interface NodeRestrictionDependencies {
  readonly pods: ObjectReader;
  readonly nodes: ObjectReader;
  readonly claims: ObjectReader;
  readonly volumes: ObjectReader;
  readonly authorizer: Authorizer;
}

type Check = (node: string, attributes: AdmissionAttributes) => MaybePromise<void>;

const NODE_LEASES = 'kube-node-lease';
const KUBELET_SIGNERS = ['kubernetes.io/kubelet-serving', 'kubernetes.io/kube-apiserver-client-kubelet'];

/** Restricts the writes of kubelets to their own node and to the pods that are bound to it. */
export function nodeRestriction(dependencies: NodeRestrictionDependencies): AdmissionPlugin {
  const checks = new Map<string, Check>([
    ['pods', admitPod(dependencies.nodes)],
    ['nodes', admitNode],
    ['persistentvolumeclaims', admitClaim],
    ['serviceaccounts', admitToken(dependencies)],
    ['leases.coordination.k8s.io', admitLease],
    ['certificatesigningrequests.certificates.k8s.io', admitCertificateRequest],
  ]);
  const checkOf = ({ group, resource }: { group: string; resource: string }): Check | undefined =>
    checks.get(group === '' ? resource : `${resource}.${group}`);
  return {
    name: 'NodeRestriction',
    handles: (operation) => operation !== 'CONNECT',
    readsObjects: (resource) => checkOf(resource) !== undefined,
    admit(attributes) {
      const node = nodeIdentity(attributes.user);
      if (node === undefined) return;
      if (node === '') {
        throw refusal(attributes, `could not determine node from user ${quote(attributes.user.name)}`);
      }
      return checkOf(attributes.resource)?.(node, attributes);
    },
  };
}

function admitLease(node: string, attributes: AdmissionAttributes): void {
  if (attributes.namespace !== NODE_LEASES) {
    throw refusal(attributes, `can only access leases in the ${quote(NODE_LEASES)} system namespace`);
  }
  const name = attributes.operation === 'CREATE' ? attributes.object?.metadata.name : attributes.name;
  if (name !== node) {
    throw refusal(attributes, 'can only access node lease with the same name as the requesting node');
  }
}

function admitCertificateRequest(node: string, attributes: AdmissionAttributes): void {
  if (attributes.operation !== 'CREATE') return;
  const spec = objectAt(attributes.object, 'spec');
  if (!KUBELET_SIGNERS.includes(textAt(spec, 'signerName'))) return;
  let commonName: string;
  try {
    const pem = Buffer.from(textAt(spec, 'request'), 'base64').toString('latin1');
    ({ commonName } = parseCertificateRequest(pem));
  } catch (error) {
    if (!(error instanceof CertificateRequestError)) throw error;
    throw refusal(attributes, `unable to parse csr: ${error.message}`);
  }
  if (commonName !== `system:node:${node}`) {
    throw refusal(attributes, `can only create a node CSR with CN=system:node:${node}`);
  }
}
