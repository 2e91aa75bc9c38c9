import { X509Certificate } from 'node:crypto';
import { objectAt } from '../../apimachinery/json/json.js';
import type { KubeObject } from '../../apimachinery/meta/meta.js';
import type { Authorizer } from '../../authorization/authorizer/interfaces.js';
import { FakeLoopbackClients } from '../../../test/fakes/registry/loopback-client.js';
import { type FakeRequest, makeCertificateRequest } from '../../../test/fakes/pki/certificate-request.js';
import { createCertificate, generateKey } from '../../pki/certificates.js';
import { FakeClock } from '../../../test/fakes/util/clock.js';
import { approveRequest, isStale, signApproved } from './certificates.js';

const clock = new FakeClock();
const HOUR = 3_600_000;
const keys = generateKey();
const caPem = createCertificate(
  {
    subject: { commonName: 'ca' },
    publicKey: keys.publicKey,
    usage: 'ca',
    notBefore: clock.now(),
    notAfter: clock.now() + 1000 * HOUR,
  },
  { key: keys.privateKey },
);
const authority = { key: keys.privateKey, certificate: new X509Certificate(caPem) };
const KUBELET = 'kubernetes.io/kube-apiserver-client-kubelet';
const CLIENT_USAGES = ['client auth', 'digital signature'];
const node: FakeRequest = { commonName: 'system:node:n', organizations: ['system:nodes'] };
const approved = { type: 'Approved', status: 'True', lastUpdateTime: new Date(clock.now()).toISOString() };

function request(
  what: FakeRequest,
  signerName: string,
  usages: readonly string[],
  over: Record<string, unknown> = {},
): KubeObject {
  const pem = Buffer.from(makeCertificateRequest(what)).toString('base64');
  return {
    metadata: { name: 'r', creationTimestamp: new Date(clock.now()).toISOString() },
    spec: { request: pem, signerName, usages: [...usages], username: 'u', groups: ['g'], ...over },
    status: {},
  };
}

const clients = new FakeLoopbackClients();
const client = clients.for({ group: 'certificates.k8s.io', resource: 'certificatesigningrequests' });

async function sign(object: KubeObject): Promise<KubeObject> {
  object['status'] = { conditions: [approved] };
  client.put(object);
  const stored = await client.get('', 'r');
  await signApproved(stored!, authority, client, clock);
  return client.objects.get('r')!;
}
const issued = (object: KubeObject): X509Certificate | undefined => {
  const text = objectAt(object, 'status')?.['certificate'];
  return typeof text === 'string' ? new X509Certificate(Buffer.from(text, 'base64')) : undefined;
};

describe('signing', () => {
  test('issues a client certificate', async () => {
    const certificate = issued(
      await sign(request(node, KUBELET, [...CLIENT_USAGES, 'key encipherment'], { expirationSeconds: 7200 })),
    );
    expect(certificate?.subject).toBe('O=system:nodes\nCN=system:node:n');
    expect(certificate?.verify(keys.publicKey)).toBe(true);
    expect(certificate?.checkIssued(authority.certificate)).toBe(true);
    expect(certificate?.ca).toBe(false);
    expect(certificate?.keyUsage).toEqual(['1.3.6.1.5.5.7.3.2']);
    expect(Date.parse(certificate?.validTo ?? '')).toBe(clock.now() + 2 * HOUR);
    expect(Date.parse(certificate?.validFrom ?? '')).toBe(clock.now() - 5 * 60_000);
  });

  test('a certificate expires no later than the CA', async () => {
    const certificate = issued(
      await sign(request({ commonName: 'joe' }, 'kubernetes.io/kube-apiserver-client', ['client auth'])),
    );
    expect(Date.parse(certificate?.validTo ?? '')).toBe(clock.now() + 1000 * HOUR);
  });

  test('issues a serving certificate with its DNS names', async () => {
    const what = { ...node, dnsNames: ['a.b', 'c'] };
    const certificate = issued(
      await sign(request(what, 'kubernetes.io/kubelet-serving', ['server auth', 'digital signature'])),
    );
    expect(certificate?.subjectAltName).toBe('DNS:a.b, DNS:c');
  });

  const refused: readonly (readonly [string, FakeRequest, string, readonly string[], string])[] = [
    [
      'other group',
      { ...node, organizations: ['x'] },
      KUBELET,
      CLIENT_USAGES,
      'subject organization is not system:nodes',
    ],
    [
      'more groups',
      { ...node, organizations: ['system:nodes', 'x'] },
      KUBELET,
      CLIENT_USAGES,
      'subject organization is not system:nodes',
    ],
    ['names', { ...node, dnsNames: ['a'] }, KUBELET, CLIENT_USAGES, 'DNS subjectAltNames are not allowed'],
    [
      'other name',
      { ...node, commonName: 'x' },
      KUBELET,
      CLIENT_USAGES,
      'subject common name does not begin with system:node:',
    ],
    ['usages', node, KUBELET, ['client auth'], 'usages did not match [client auth digital signature key encipherment]'],
    [
      'serving without names',
      node,
      'kubernetes.io/kubelet-serving',
      ['server auth', 'digital signature'],
      'DNS or IP subjectAltName is required',
    ],
    [
      'server as client',
      node,
      'kubernetes.io/kube-apiserver-client',
      ['server auth'],
      'invalid usage for client certificate: server auth',
    ],
    [
      'no client',
      node,
      'kubernetes.io/kube-apiserver-client',
      ['digital signature'],
      'missing required usage for client certificate: client auth',
    ],
  ];
  test.each(refused)('refused: %s', async (_name, what, signer, usages, message) => {
    const object = await sign(request(what, signer, usages));
    expect(issued(object)).toBeUndefined();
    expect(objectAt(object, 'status')?.['conditions']).toContainEqual(
      expect.objectContaining({ type: 'Failed', status: 'True', reason: 'SignerValidationFailure', message }),
    );
  });

  test('does not sign requests that are not approved, are forged, or are for other signers', async () => {
    const quiet = request(node, KUBELET, CLIENT_USAGES);
    await signApproved(quiet, authority, client, clock);
    expect(quiet['status']).toEqual({});
    expect(issued(await sign(request(node, 'a.b/c', CLIENT_USAGES)))).toBeUndefined();
    await expect(sign(request({ ...node, forged: true }, KUBELET, CLIENT_USAGES))).rejects.toThrow(
      'verification failure',
    );
  });
});

describe('approval', () => {
  const allowing = (...subresources: string[]): Authorizer => ({
    authorize: ({ subresource, user, resource }) => ({
      decision:
        resource === 'certificatesigningrequests' && user.groups.includes('g') && subresources.includes(subresource)
          ? 'allow'
          : 'no-opinion',
      reason: '',
    }),
  });
  const outcome = async (object: KubeObject, authorizer: Authorizer): Promise<unknown> => {
    client.put(object);
    await approveRequest((await client.get('', 'r'))!, authorizer, client, new AbortController().signal);
    const conditions = objectAt(client.objects.get('r'), 'status')?.['conditions'];
    return Array.isArray(conditions) ? (conditions[0] as Record<string, unknown>)['message'] : undefined;
  };

  test('approves a node client certificate for a bootstrap token', async () => {
    const message = 'Auto approving kubelet client certificate after SubjectAccessReview.';
    expect(await outcome(request(node, KUBELET, CLIENT_USAGES), allowing('nodeclient'))).toBe(message);
    expect(await outcome(request(node, KUBELET, CLIENT_USAGES), allowing('selfnodeclient'))).toBeUndefined();
    expect(await outcome(request(node, KUBELET, CLIENT_USAGES), allowing())).toBeUndefined();
  });

  test('approves a node client certificate for the node itself', async () => {
    const own = request(node, KUBELET, CLIENT_USAGES, { username: 'system:node:n' });
    expect(await outcome(own, allowing('selfnodeclient'))).toBe(
      'Auto approving self kubelet client certificate after SubjectAccessReview.',
    );
  });

  test('approves nothing else', async () => {
    const all = allowing('nodeclient', 'selfnodeclient');
    expect(await outcome(request(node, 'kubernetes.io/kube-apiserver-client', CLIENT_USAGES), all)).toBeUndefined();
    expect(await outcome(request({ commonName: 'x' }, KUBELET, CLIENT_USAGES), all)).toBeUndefined();
  });
});

describe('cleaning', () => {
  const at = (status: Record<string, unknown>): KubeObject =>
    ({ ...request(node, KUBELET, CLIENT_USAGES), status }) as KubeObject;
  const condition = (type: string) => ({ ...approved, type });
  test.each([
    ['pending', {}, 24],
    ['denied', { conditions: [condition('Denied')] }, 1],
    ['failed', { conditions: [condition('Failed')] }, 1],
    ['approved', { conditions: [condition('Approved')] }, 24],
    ['issued', { conditions: [condition('Approved')], certificate: 'YQ==' }, 1],
  ] as const)('%s', (_name, status, hours) => {
    const object = at(status);
    expect(isStale(object, clock.now() + hours * HOUR)).toBe(false);
    expect(isStale(object, clock.now() + hours * HOUR + 1)).toBe(true);
  });
});
