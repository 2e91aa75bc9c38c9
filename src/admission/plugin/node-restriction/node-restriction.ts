import { objectAt, textAt } from '../../../apimachinery/json/json.js';
import { quote } from '../../../apimachinery/meta/meta.js';
import type { Authorizer } from '../../../authorization/authorizer/interfaces.js';
import { nodeIdentity } from '../../../authorization/node/node-authorizer.js';
import { CertificateRequestError, parseCertificateRequest } from '../../../pki/certificate-request.js';
import type { AdmissionAttributes, AdmissionPlugin } from '../../interfaces.js';
import type { ObjectReader } from '../../object-reader.js';
import { refusal } from '../../refusal.js';
import { admitClaim } from './claims.js';
import { admitNode } from './nodes.js';
import { admitPod } from './pods.js';
import { admitToken } from './tokens.js';
import type { MaybePromise } from '../../../util/maybe-promise.js';

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
