import { X509Certificate } from 'node:crypto';
import { conditionsOf } from '../../../../apimachinery/meta/conditions.js';
import {
  duplicate,
  type FieldError,
  FieldPath,
  forbidden,
  invalid,
  required,
  tooLong,
} from '../../../../apimachinery/meta/field-error.js';
import type { CertificateSigningRequest } from '../../../../apimachinery/generated/certificates.js';
import { deepEqual, type JsonObject, textAt } from '../../../../apimachinery/json/json.js';
import { compareUtf8, quote } from '../../../../apimachinery/meta/meta.js';
import { internalDiff } from '../../../../apimachinery/scheme/internal-diff.js';
import {
  CertificateRequestError,
  checkRequestSignature,
  parseCertificateRequest,
} from '../../../../pki/certificate-request.js';
import { nextPemBlock } from '../../../../pki/pem.js';
import { choice, choiceIfSet, eachErrors, noDuplicates } from '../../shared/checks.js';
import { validateCoreMeta, validateCoreMetaUpdate } from '../../shared/meta.js';
import {
  APPROVED,
  certificateOf,
  conditionType,
  DENIED,
  FAILED,
  requestPem,
  signerNameOf,
  usagesOf,
} from './conditions.js';
import { isDns1123Label, isDns1123Subdomain } from '../../../../apimachinery/validation/names.js';

/** The fields that a strategy may change. */
export interface WriteRights {
  readonly approval: boolean;
  readonly certificate: boolean;
}

const SPEC = FieldPath.of('spec');
const CONDITIONS = FieldPath.of('status', 'conditions');
const CERTIFICATE = FieldPath.of('status', 'certificate');
const LEGACY_SIGNER = 'kubernetes.io/legacy-unknown';
const MIN_SECONDS = 600;

const USAGES = [
  'any',
  'cert sign',
  'client auth',
  'code signing',
  'content commitment',
  'crl sign',
  'data encipherment',
  'decipher only',
  'digital signature',
  'email protection',
  'encipher only',
  'ipsec end system',
  'ipsec tunnel',
  'ipsec user',
  'key agreement',
  'key encipherment',
  'microsoft sgc',
  'netscape sgc',
  'ocsp signing',
  's/mime',
  'server auth',
  'signing',
  'timestamping',
].sort(compareUtf8);

/** The faults that a stored object may keep. */
interface Tolerance {
  readonly both: boolean;
  readonly legacySigner: boolean;
  readonly duplicateConditions: boolean;
  readonly emptyConditions: boolean;
  readonly anyCertificate: boolean;
  readonly duplicateUsages: boolean;
  readonly unknownUsages: boolean;
}

const hasDuplicates = (list: readonly string[]): boolean => new Set(list).size < list.length;

function toleranceFor(object: CertificateSigningRequest, old: CertificateSigningRequest | undefined): Tolerance {
  const types = conditionsOf(old).map(conditionType);
  const usages = old === undefined ? [] : usagesOf(old);
  return {
    both: types.includes(APPROVED) && types.includes(DENIED),
    legacySigner: old !== undefined && signerNameOf(old) === LEGACY_SIGNER,
    duplicateConditions: hasDuplicates(types),
    emptyConditions: types.includes(''),
    anyCertificate:
      old !== undefined &&
      (certificateOf(object) === certificateOf(old) || certificateProblem(certificateOf(old)) !== undefined),
    duplicateUsages: hasDuplicates(usages),
    unknownUsages: usages.some((usage) => !USAGES.includes(usage)),
  };
}

function requestErrors(object: CertificateSigningRequest): FieldError[] {
  try {
    checkRequestSignature(parseCertificateRequest(requestPem(object)));
    return [];
  } catch (error) {
    if (!(error instanceof CertificateRequestError)) throw error;
    return [invalid(SPEC.child('request'), object.spec?.request ?? null, error.message)];
  }
}

const MAX_DOMAIN = 253;
const MAX_PATH = 253 + 63 + 1;

function labelErrors(path: FieldPath, segment: string, check: (label: string) => readonly string[]): FieldError[] {
  for (const label of segment.split('.')) {
    const texts = check(label);
    // Report only the first invalid label.
    if (texts.length > 0)
      return texts.map((text) => invalid(path, segment, `validating label ${quote(label)}: ${text}`));
  }
  return [];
}

/** Validates a signer name: a domain, a slash and a path, as in `example.com/signer-name`. */
export function validateSignerName(path: FieldPath, signerName: string): FieldError[] {
  if (signerName === '') return [required(path)];
  const [domain, tail, ...more] = signerName.split('/');
  if (domain === undefined || tail === undefined || more.length > 0) {
    const why = "must be a fully qualified domain and path of the form 'example.com/signer-name'";
    return [invalid(path, signerName, why)];
  }
  const errors: FieldError[] = [];
  if (domain.length > MAX_DOMAIN) errors.push(tooLong(path, MAX_DOMAIN));
  errors.push(...labelErrors(path, domain, isDns1123Label));
  if (!domain.includes('.')) {
    errors.push(invalid(path, domain, 'should be a domain with at least two segments separated by dots'));
  }
  errors.push(...labelErrors(path, tail, isDns1123Subdomain));
  const max = MAX_DOMAIN + MAX_PATH + 1;
  if (signerName.length > max) errors.push(tooLong(path, max));
  return errors;
}

function usageErrors(object: CertificateSigningRequest, tolerance: Tolerance): FieldError[] {
  const path = SPEC.child('usages');
  const usages = usagesOf(object);
  if (usages.length === 0) return [required(path)];
  return [
    ...(tolerance.unknownUsages ? [] : eachErrors(usages, path, (usage, at) => choiceIfSet(usage, at, USAGES))),
    ...(tolerance.duplicateUsages ? [] : eachErrors(usages, path, noDuplicates())),
  ];
}

/** Returns what is wrong with an issued certificate (base64 of PEM), or undefined if it is valid. */
function certificateProblem(base64: string): string | undefined {
  if (base64 === '') return undefined;
  const text = Buffer.from(base64, 'base64').toString('latin1');
  let blocks = 0;
  for (let block = nextPemBlock(text); block !== undefined; block = nextPemBlock(text, block.end)) {
    if (block.label !== 'CERTIFICATE') return `only CERTIFICATE PEM blocks are allowed, found ${quote(block.label)}`;
    if (block.headers) return 'no PEM block headers are permitted';
    blocks++;
    if (block.content.length === 0) return 'found CERTIFICATE PEM block containing 0 certificates';
    try {
      new X509Certificate(block.content);
    } catch {
      return 'x509: malformed certificate';
    }
  }
  return blocks === 0 ? 'must contain at least one CERTIFICATE PEM block' : undefined;
}

const STATUSES = ['False', 'True', 'Unknown'];

function conditionErrors(object: CertificateSigningRequest, tolerance: Tolerance): FieldError[] {
  const seen = new Set<string>();
  return eachErrors(conditionsOf(object), CONDITIONS, (condition, path) => {
    const type = conditionType(condition);
    const errors = !tolerance.emptyConditions && type === '' ? [required(path.child('type'))] : [];
    const allowed = [APPROVED, DENIED, FAILED].includes(type) ? ['True'] : STATUSES;
    errors.push(...choice(textAt(condition, 'status'), path.child('status'), allowed));
    const other = type === APPROVED ? DENIED : type === DENIED ? APPROVED : undefined;
    if (!tolerance.both && other !== undefined && seen.has(other)) {
      errors.push(invalid(CONDITIONS, type, 'Approved and Denied conditions are mutually exclusive'));
    }
    if (!tolerance.duplicateConditions && seen.has(type)) errors.push(duplicate(path.child('type'), type));
    seen.add(type);
    return errors;
  });
}

/** Validates a request on creation (`old` is undefined) or on update. */
export function validateSigningRequest(
  object: CertificateSigningRequest,
  old?: CertificateSigningRequest,
): FieldError[] {
  const tolerance = toleranceFor(object, old);
  const errors = validateCoreMeta(object.metadata, 'Cluster', () => []);
  errors.push(...requestErrors(object), ...usageErrors(object, tolerance));
  const signer = signerNameOf(object);
  const path = SPEC.child('signerName');
  if (signer === LEGACY_SIGNER && !tolerance.legacySigner) {
    errors.push(invalid(path, signer, 'the legacy signerName is not allowed via this API version'));
  } else errors.push(...validateSignerName(path, signer));
  const seconds = object.spec?.expirationSeconds;
  if (typeof seconds === 'number' && seconds < MIN_SECONDS) {
    const why = 'may not specify a duration less than 600 seconds (10 minutes)';
    errors.push(invalid(SPEC.child('expirationSeconds'), seconds, why));
  }
  errors.push(...conditionErrors(object, tolerance));
  const problem = tolerance.anyCertificate ? undefined : certificateProblem(certificateOf(object));
  if (problem !== undefined) errors.push(invalid(CERTIFICATE, '<certificate data>', problem));
  return errors;
}

export function validateSigningRequestUpdate(
  object: CertificateSigningRequest,
  old: CertificateSigningRequest,
  rights: WriteRights,
): FieldError[] {
  const errors = validateSigningRequest(object, old);
  const of = (request: CertificateSigningRequest, type: string): JsonObject[] =>
    conditionsOf(request).filter((condition) => conditionType(condition) === type);
  for (const type of [APPROVED, DENIED, FAILED]) {
    if (of(object, type).length < of(old, type).length) {
      errors.push(forbidden(CONDITIONS, `updates may not remove a condition of type ${quote(type)}`));
    }
  }
  for (const type of rights.approval ? [] : [APPROVED, DENIED]) {
    const now = of(object, type);
    const before = of(old, type);
    if (now.length > before.length) {
      errors.push(forbidden(CONDITIONS, `updates may not add a condition of type ${quote(type)}`));
    } else if (now.length === before.length && !deepEqual(now, before)) {
      const differences = internalDiff('CertificateSigningRequestConditions', before, now);
      errors.push(forbidden(CONDITIONS, `updates may not modify a condition of type ${quote(type)}\n${differences}`));
    }
  }
  if (certificateOf(object) !== certificateOf(old)) {
    if (!rights.certificate) errors.push(forbidden(CERTIFICATE, 'updates may not set certificate content'));
    else if (certificateOf(old) !== '') {
      errors.push(forbidden(CERTIFICATE, 'updates may not modify existing certificate content'));
    }
  }
  errors.push(...validateCoreMetaUpdate(object.metadata, old.metadata));
  return errors;
}
