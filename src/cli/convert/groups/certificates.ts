import type { JsonObject } from '../../../apimachinery/json/json.js';
import { parseCertificateRequest, type ParsedRequest } from '../../../pki/certificate-request.js';
import { type Convert, Refusal, type Row } from '../conversion.js';
import { isEmpty, objectIn, objectsIn, textIn, textsIn } from '../fields.js';

const LEGACY = 'kubernetes.io/legacy-unknown';
const CLIENT = 'kubernetes.io/kube-apiserver-client-kubelet';
const SERVING = 'kubernetes.io/kubelet-serving';
const NODE = 'system:node:';

const USAGES = new Set([
  'signing',
  'digital signature',
  'content commitment',
  'key encipherment',
  'key agreement',
  'data encipherment',
  'cert sign',
  'crl sign',
  'encipher only',
  'decipher only',
  'any',
  'server auth',
  'client auth',
  'code signing',
  'email protection',
  's/mime',
  'ipsec end system',
  'ipsec tunnel',
  'ipsec user',
  'timestamping',
  'ocsp signing',
  'microsoft sgc',
  'netscape sgc',
]);

const signingRequest: Convert = (object) => {
  const spec = objectIn(object, 'spec', '');
  if (spec === undefined) throw new Refusal('spec is missing');
  if (isEmpty(spec['usages'])) spec['usages'] = ['digital signature', 'key encipherment'];
  const usages = textsIn(spec, 'usages', 'spec');
  const unknown = usages.find((usage) => !USAGES.has(usage));
  if (unknown !== undefined) throw new Refusal(`spec.usages: v1 does not support "${unknown}"`);
  if (new Set(usages).size < usages.length) throw new Refusal('spec.usages: v1 does not allow duplicate usages');
  const given = textIn(spec, 'signerName', 'spec');
  const signer = given ?? derivedSigner(spec, usages);
  if (signer === LEGACY) {
    const why = given === undefined ? 'is missing, for which v1beta1 used' : 'is';
    throw new Refusal(
      `spec.signerName ${why} ${LEGACY}, ` +
        'which v1 does not accept: set the signer to use, such as kubernetes.io/kube-apiserver-client',
    );
  }
  spec['signerName'] = signer;
  const status = objectIn(object, 'status', '');
  if (status !== undefined) checkStatus(status);
};

function checkStatus(status: JsonObject): void {
  const types = new Set<string>();
  for (const [condition, path] of objectsIn(status, 'conditions', 'status')) {
    if (isEmpty(condition['status'])) condition['status'] = 'True';
    const type = textIn(condition, 'type', path) ?? '';
    if (types.has(type)) throw new Refusal(`${path}.type: v1 does not allow two conditions of the same type (${type})`);
    types.add(type);
  }
  const certificate = textIn(status, 'certificate', 'status');
  if (certificate === undefined) return;
  const labels = [
    ...Buffer.from(certificate, 'base64')
      .toString()
      .matchAll(/^-----BEGIN ([^-\n]*)-----/gm),
  ];
  if (labels.length === 0 || labels.some(([, label]) => label !== 'CERTIFICATE'))
    throw new Refusal('status.certificate: v1 allows only PEM blocks of type CERTIFICATE');
}

/** Returns the signer that v1beta1 derived from the request. */
function derivedSigner(spec: JsonObject, usages: readonly string[]): string {
  const request = readRequest(textIn(spec, 'request', 'spec') ?? '');
  if (request === undefined) return LEGACY;
  const { organizations, commonName, dnsNames, ipAddresses, emailAddresses, uris } = request;
  if (organizations.join('\n') !== 'system:nodes' || !commonName.startsWith(NODE)) return LEGACY;
  if (emailAddresses.length > 0 || uris.length > 0) return LEGACY;
  const isNamed = dnsNames.length > 0 || ipAddresses.length > 0;
  if (!isNamed && areUsages(usages, 'client auth')) return CLIENT;
  return isNamed && areUsages(usages, 'server auth') ? SERVING : LEGACY;
}

function areUsages(usages: readonly string[], auth: string): boolean {
  const rest = new Set(usages);
  if (!rest.delete('digital signature') || !rest.delete(auth)) return false;
  rest.delete('key encipherment');
  return rest.size === 0;
}

function readRequest(base64: string): ParsedRequest | undefined {
  try {
    return parseCertificateRequest(Buffer.from(base64, 'base64').toString());
  } catch {
    // v1beta1 did not check any further, either.
    return undefined;
  }
}

export const certificates: readonly Row[] = [
  {
    from: ['certificates.k8s.io/v1beta1'],
    kinds: ['CertificateSigningRequest'],
    to: 'certificates.k8s.io/v1',
    convert: signingRequest,
  },
];
