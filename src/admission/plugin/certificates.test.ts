import type { KubeObject } from '../../apimachinery/meta/meta.js';
import type { Authorizer } from '../../authorization/authorizer/interfaces.js';
import { makeCertificateRequest } from '../../../test/fakes/pki/certificate-request.js';
import { admissionChain } from '../chain.js';
import type { AdmissionAttributes } from '../interfaces.js';
import { certificateAdmission } from './certificates.js';

const authorizer: Authorizer = {
  authorize: ({ user, verb, name, resource }) => ({
    decision: resource === 'signers' && user.groups.includes(`${verb} ${name}`) ? 'allow' : 'no-opinion',
    reason: '',
  }),
};
const chain = admissionChain(certificateAdmission(authorizer));

const request = (signerName: string, status = {}, pem = ''): KubeObject => ({
  metadata: { name: 'r' },
  spec: { signerName, request: Buffer.from(pem).toString('base64') },
  status,
});

function attributes(over: Partial<AdmissionAttributes>, groups: string[] = []): AdmissionAttributes {
  return {
    operation: 'UPDATE',
    resource: { group: 'certificates.k8s.io', version: 'v1', resource: 'certificatesigningrequests' },
    subresource: '',
    name: 'r',
    user: { name: 'u', uid: '', groups, extra: {} },
    signal: () => new AbortController().signal,
    ...over,
  } as AdmissionAttributes;
}

describe.each([
  ['approval', 'approve'],
  ['status', 'sign'],
] as const)('%s', (subresource, verb) => {
  const oldObject = request('a.b/c');
  const object = request('other.io/x', { conditions: [{ type: 'Failed' }] });
  const validate = async (groups: string[]): Promise<void> =>
    chain.validate(attributes({ subresource, object, oldObject }, groups));

  test('needs the permission for the stored signer', async () => {
    await expect(validate([`${verb} other.io/x`])).rejects.toMatchObject({
      code: 403,
      message: `certificatesigningrequests.certificates.k8s.io "r" is forbidden: user not permitted to ${verb} requests with signerName "a.b/c"`,
    });
    await expect(validate([`${verb} a.b/c`])).resolves.toBeUndefined();
  });

  test('accepts the permission for all signers of the domain', async () => {
    await expect(validate([`${verb} a.b/*`])).resolves.toBeUndefined();
  });
});

test('an unchanged status needs no permission', async () => {
  const oldObject = request('a.b/c', { conditions: [] });
  const change = async (status: object): Promise<void> =>
    chain.validate(attributes({ subresource: 'status', object: request('a.b/c', status), oldObject }));
  await expect(change({})).resolves.toBeUndefined();
  await expect(change({ conditions: [{ type: 'Failed' }] })).rejects.toMatchObject({ code: 403 });
});

describe('certificates for system:masters', () => {
  const pem = makeCertificateRequest({ commonName: 'x', organizations: ['system:masters'] });
  const create = async (signer: string): Promise<void> =>
    chain.validate(attributes({ operation: 'CREATE', object: request(signer, {}, pem) }));

  test('are refused for kube-apiserver-client', async () => {
    await expect(create('kubernetes.io/kube-apiserver-client')).rejects.toMatchObject({ code: 403 });
  });

  test('are allowed for other signers', async () => {
    await expect(create('a.b/c')).resolves.toBeUndefined();
  });
});
