import { newForbidden } from '../../apimachinery/meta/errors.js';
import { deepEqual, objectAt, textAt } from '../../apimachinery/json/json.js';
import { type GroupResource, type KubeObject, quote } from '../../apimachinery/meta/meta.js';
import type { Authorizer } from '../../authorization/authorizer/interfaces.js';
import { CertificateRequestError, parseCertificateRequest } from '../../pki/certificate-request.js';
import type { AdmissionAttributes, AdmissionPlugin } from '../interfaces.js';

const GROUP = 'certificates.k8s.io';
const CLIENT_SIGNER = 'kubernetes.io/kube-apiserver-client';

const isSigningRequest = ({ resource, subresource }: AdmissionAttributes, wanted: string): boolean =>
  resource.group === GROUP && resource.resource === 'certificatesigningrequests' && subresource === wanted;

const readsObjects = ({ group }: GroupResource): boolean => group === GROUP;

const signerOf = (request: KubeObject | undefined): string => textAt(objectAt(request, 'spec'), 'signerName');

/** Reports whether the user may use the verb on the signer, or on all signers of its domain. */
async function allowed(authorizer: Authorizer, attributes: AdmissionAttributes, verb: string): Promise<boolean> {
  const signer = signerOf(attributes.oldObject);
  for (const name of [signer, `${signer.split('/')[0] ?? ''}/*`]) {
    const { decision } = await authorizer.authorize(
      {
        user: attributes.user,
        verb,
        resourceRequest: true,
        namespace: '',
        apiGroup: GROUP,
        apiVersion: '*',
        resource: 'signers',
        subresource: '',
        name,
        path: '',
      },
      attributes.signal(),
    );
    if (decision === 'allow') return true;
  }
  return false;
}

function signerPermission(
  authorizer: Authorizer,
  name: string,
  subresource: string,
  verb: 'approve' | 'sign',
): AdmissionPlugin {
  return {
    name,
    handles: (operation) => operation === 'UPDATE',
    readsObjects,
    validate(attributes) {
      const { object, oldObject, resource } = attributes;
      if (!isSigningRequest(attributes, subresource)) return undefined;
      if (verb === 'sign' && sameOutcome(object, oldObject)) return undefined;
      return allowed(authorizer, attributes, verb).then((yes) => {
        if (yes) return;
        const why = `user not permitted to ${verb} requests with signerName ${quote(signerOf(oldObject))}`;
        throw newForbidden(resource, attributes.name, why);
      });
    },
  };
}

function sameOutcome(object: KubeObject | undefined, old: KubeObject | undefined): boolean {
  const now = objectAt(object, 'status');
  const before = objectAt(old, 'status');
  return (
    (now?.['certificate'] ?? '') === (before?.['certificate'] ?? '') &&
    deepEqual(now?.['conditions'] ?? [], before?.['conditions'] ?? [])
  );
}

/** Prevents certificates of this signer from granting membership in system:masters. */
const subjectRestriction: AdmissionPlugin = {
  name: 'CertificateSubjectRestriction',
  handles: (operation) => operation === 'CREATE',
  readsObjects,
  validate(attributes) {
    const { object, resource, name } = attributes;
    if (!isSigningRequest(attributes, '') || signerOf(object) !== CLIENT_SIGNER) return;
    const pem = Buffer.from(textAt(objectAt(object, 'spec'), 'request'), 'base64').toString('latin1');
    let organizations: readonly string[];
    try {
      ({ organizations } = parseCertificateRequest(pem));
    } catch (error) {
      if (!(error instanceof CertificateRequestError)) throw error;
      throw newForbidden(resource, name, `failed to parse CSR: ${error.message}`);
    }
    if (organizations.includes('system:masters')) {
      throw newForbidden(resource, name, `use of ${CLIENT_SIGNER} signer with system:masters group is not allowed`);
    }
  },
};

/** The plugins that restrict who may approve and sign CertificateSigningRequests, by signer. */
export function certificateAdmission(authorizer: Authorizer): readonly AdmissionPlugin[] {
  return [
    signerPermission(authorizer, 'CertificateApproval', 'approval', 'approve'),
    signerPermission(authorizer, 'CertificateSigning', 'status', 'sign'),
    subjectRestriction,
  ];
}
