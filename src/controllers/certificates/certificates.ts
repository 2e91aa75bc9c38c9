import { X509Certificate } from 'node:crypto';
import { conditionsOf } from '../../apimachinery/meta/conditions.js';
import { objectAt, stringAt, stringsOf } from '../../apimachinery/json/json.js';
import { formatTime, type KubeObject } from '../../apimachinery/meta/meta.js';
import { timeMillis } from '../../apimachinery/meta/time.js';
import type { UserInfo } from '../../authentication/user/user.js';
import type { Authorizer } from '../../authorization/authorizer/interfaces.js';
import {
  APPROVED,
  certificateOf,
  conditionType,
  DENIED,
  FAILED,
  hasCondition,
  requestPem,
  signerNameOf,
  usagesOf,
} from '../../registry/builtin/certificates/certificatesigningrequests/conditions.js';
import type { LoopbackClient } from '../../registry/rest/loopback-client.js';
import {
  CertificateRequestError,
  checkRequestSignature,
  parseCertificateRequest,
  type ParsedRequest,
} from '../../pki/certificate-request.js';
import type { Clock } from '../../util/clock.js';
import { type SigningAuthority, signRequest } from '../../pki/sign-request.js';

const CLIENT_SIGNER = 'kubernetes.io/kube-apiserver-client';
const CLIENT_KUBELET_SIGNER = 'kubernetes.io/kube-apiserver-client-kubelet';
const KUBELET_SERVING_SIGNER = 'kubernetes.io/kubelet-serving';

/** Returns the signer's objection to a request; undefined if there is none. */
type SignerCheck = (request: ParsedRequest, usages: readonly string[]) => string | undefined;

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

const kubeletClientProblem: SignerCheck = (request, usages) => {
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
const SIGNER_CHECKS: ReadonlyMap<string, SignerCheck> = new Map([
  [CLIENT_SIGNER, clientProblem],
  [CLIENT_KUBELET_SIGNER, kubeletClientProblem],
  [KUBELET_SERVING_SIGNER, kubeletServingProblem],
]);

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
/** The default of `--cluster-signing-duration` in kube-controller-manager. */
const LONGEST = 365 * DAY;
const BACKDATE = 5 * MINUTE;
const SHORTEST = 10 * MINUTE;
const SHORT = 8 * HOUR;
const DECIDED_KEPT = HOUR;
const PENDING_KEPT = DAY;

/** Approves requests of kubelets for their own client certificates, if the requester is authorized to ask for them. */
export async function approveRequest(
  request: KubeObject,
  authorizer: Authorizer,
  client: LoopbackClient,
  signal: AbortSignal,
): Promise<void> {
  if (certificateOf(request) !== '' || hasCondition(request, APPROVED) || hasCondition(request, DENIED)) return;
  if (signerNameOf(request) !== CLIENT_KUBELET_SIGNER) return;
  const parsed = parseCertificateRequest(requestPem(request));
  if (kubeletClientProblem(parsed, usagesOf(request)) !== undefined) return;
  const user = requesterOf(request);
  const self = user.name === parsed.commonName;
  const recognized: readonly (readonly [string, string])[] = [
    ...(self
      ? [['selfnodeclient', 'Auto approving self kubelet client certificate after SubjectAccessReview.'] as const]
      : []),
    ['nodeclient', 'Auto approving kubelet client certificate after SubjectAccessReview.'],
  ];
  for (const [subresource, message] of recognized) {
    if (!(await mayCreate(authorizer, user, subresource, signal))) continue;
    addCondition(request, { type: APPROVED, status: 'True', reason: 'AutoApproved', message });
    await client.updateSubresource(request, 'approval');
    return;
  }
}

async function mayCreate(
  authorizer: Authorizer,
  user: UserInfo,
  subresource: string,
  signal: AbortSignal,
): Promise<boolean> {
  const { decision } = await authorizer.authorize(
    {
      user,
      verb: 'create',
      resourceRequest: true,
      namespace: '',
      apiGroup: 'certificates.k8s.io',
      apiVersion: '*',
      resource: 'certificatesigningrequests',
      subresource,
      name: '',
      path: '',
    },
    signal,
  );
  return decision === 'allow';
}

function requesterOf(request: KubeObject): UserInfo {
  const spec = objectAt(request, 'spec');
  const extra = Object.entries(objectAt(spec, 'extra') ?? {}).map(([key, value]) => [key, stringsOf(value)] as const);
  return {
    name: stringAt(spec, 'username') ?? '',
    uid: stringAt(spec, 'uid') ?? '',
    groups: stringsOf(spec?.['groups']),
    extra: Object.fromEntries(extra),
  };
}

function addCondition(request: KubeObject, condition: Record<string, string>): void {
  request['status'] = { ...objectAt(request, 'status'), conditions: [...conditionsOf(request), condition] };
}

/** Signs approved requests of the server's own signers; a request that its signer rejects gets the Failed condition. */
export async function signApproved(
  request: KubeObject,
  authority: SigningAuthority,
  client: LoopbackClient,
  clock: Clock,
): Promise<void> {
  if (certificateOf(request) !== '' || !hasCondition(request, APPROVED) || hasCondition(request, FAILED)) return;
  if (hasCondition(request, DENIED)) return;
  const check = SIGNER_CHECKS.get(signerNameOf(request));
  if (check === undefined) return;
  const parsed = parseCertificateRequest(requestPem(request));
  const problem = check(parsed, usagesOf(request));
  if (problem === undefined) {
    const certificate = Buffer.from(issue(request, parsed, authority, clock.now()), 'latin1').toString('base64');
    request['status'] = { ...objectAt(request, 'status'), certificate };
  } else {
    const lastUpdateTime = formatTime(clock.now());
    addCondition(request, {
      type: FAILED,
      status: 'True',
      reason: 'SignerValidationFailure',
      message: problem,
      lastUpdateTime,
    });
  }
  await client.updateStatus(request);
}

function issue(request: KubeObject, parsed: ParsedRequest, authority: SigningAuthority, now: number): string {
  checkRequestSignature(parsed);
  const asked = objectAt(request, 'spec')?.['expirationSeconds'];
  const wanted = typeof asked === 'number' ? asked * 1000 : LONGEST;
  const duration = Math.max(SHORTEST, Math.min(wanted, LONGEST));
  const end = Date.parse(authority.certificate.validTo);
  if (now >= end) {
    throw new CertificateRequestError(
      `refusing to sign a certificate that expired in the past: NotAfter=${formatTime(end)}`,
    );
  }
  const notAfter = Math.min(now + duration - (duration < SHORT ? 0 : BACKDATE), end);
  return signRequest(parsed, { usages: usagesOf(request), notBefore: now - BACKDATE, notAfter }, authority);
}

/** Reports whether a request has served its purpose, or never will. */
export function isStale(request: KubeObject, now: number): boolean {
  const older = (time: unknown, millis: number): boolean => {
    const at = typeof time === 'string' ? timeMillis(time) : undefined;
    return at !== undefined && now - at > millis;
  };
  const conditions = conditionsOf(request);
  const issued = certificateOf(request) !== '';
  if (conditions.length === 0) return older(request.metadata.creationTimestamp, PENDING_KEPT);
  return conditions.some((condition) => {
    const at = condition['lastUpdateTime'];
    switch (conditionType(condition)) {
      case DENIED:
      case FAILED:
        return older(at, DECIDED_KEPT);
      case APPROVED:
        return older(at, issued ? DECIDED_KEPT : PENDING_KEPT) || (issued && hasEnded(request, now));
      default:
        return false;
    }
  });
}

function hasEnded(request: KubeObject, now: number): boolean {
  try {
    const pem = Buffer.from(certificateOf(request), 'base64');
    return now > Date.parse(new X509Certificate(pem).validTo);
  } catch {
    return false;
  }
}
