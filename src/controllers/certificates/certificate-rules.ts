import type { ParsedRequest } from '../../pki/certificate-request.js';

const CLIENT_SIGNER = 'kubernetes.io/kube-apiserver-client';
export const CLIENT_KUBELET_SIGNER = 'kubernetes.io/kube-apiserver-client-kubelet';
const KUBELET_SERVING_SIGNER = 'kubernetes.io/kubelet-serving';

/** Returns the signer's objection to a request; undefined if there is none. */
export type SignerCheck = (request: ParsedRequest, usages: readonly string[]) => string | undefined;

const NODES = 'system:nodes';
const NODE_PREFIX = 'system:node:';

const isNodeGroup = ({ organizations }: ParsedRequest): boolean =>
  organizations.length === 1 && organizations[0] === NODES;

/** Requires exactly these usages, with or without key encipherment. */
function usageProblem(usages: readonly string[], auth: string): string | undefined {
  const given = new Set(usages);
  const optional = given.has('key encipherment') ? 1 : 0;
  const exact = given.has('digital signature') && given.has(auth) && given.size === 2 + optional;
  if (exact) return undefined;
  const expected = ['digital signature', 'key encipherment', auth].sort();
  return `usages did not match [${expected.join(' ')}]`;
}

export const kubeletClientProblem: SignerCheck = (request, usages) => {
  if (!isNodeGroup(request)) return 'subject organization is not system:nodes';
  if (request.dnsNames.length > 0) return 'DNS subjectAltNames are not allowed';
  if (request.emailAddresses.length > 0) return 'Email subjectAltNames are not allowed';
  if (request.ipAddresses.length > 0) return 'IP subjectAltNames are not allowed';
  if (request.uris.length > 0) return 'URI subjectAltNames are not allowed';
  if (!request.commonName.startsWith(NODE_PREFIX)) return 'subject common name does not begin with system:node:';
  return usageProblem(usages, 'client auth');
};

const kubeletServingProblem: SignerCheck = (request, usages) => {
  if (!isNodeGroup(request)) return 'subject organization is not system:nodes';
  if (request.dnsNames.length === 0 && request.ipAddresses.length === 0) return 'DNS or IP subjectAltName is required';
  if (request.emailAddresses.length > 0) return 'Email subjectAltNames are not allowed';
  if (request.uris.length > 0) return 'URI subjectAltNames are not allowed';
  const problem = usageProblem(usages, 'server auth');
  if (problem !== undefined || request.commonName.startsWith(NODE_PREFIX)) return problem;
  return 'subject common name does not begin with system:node:';
};

const clientProblem: SignerCheck = (_request, usages) => {
  const other = usages.find((usage) => !['digital signature', 'key encipherment', 'client auth'].includes(usage));
  if (other !== undefined) return `invalid usage for client certificate: ${other}`;
  return usages.includes('client auth') ? undefined : 'missing required usage for client certificate: client auth';
};

/** The rules of the server's own signers. */
export const SIGNER_CHECKS: ReadonlyMap<string, SignerCheck> = new Map([
  [CLIENT_SIGNER, clientProblem],
  [CLIENT_KUBELET_SIGNER, kubeletClientProblem],
  [KUBELET_SERVING_SIGNER, kubeletServingProblem],
]);
