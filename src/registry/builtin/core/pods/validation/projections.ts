import type * as core from '../../../../../apimachinery/generated/core.js';
import {
  type FieldError,
  type FieldPath,
  invalid,
  notSupported,
  required,
} from '../../../../../apimachinery/meta/field-error.js';
import { validateLabelSelector } from '../../../../../apimachinery/selectors/label-selector-object.js';
import { nameIsDnsSubdomain } from '../../../../../apimachinery/validation/names.js';
import { validateSignerName } from '../../../certificates/certificatesigningrequests/validation.js';
import { filePathErrors, integerOf } from '../../../shared/checks.js';

const KEY_TYPES = ['RSA3072', 'RSA4096', 'ECDSAP256', 'ECDSAP384', 'ECDSAP521', 'ED25519'];
const MIN_EXPIRATION = 3600;
const MAX_EXPIRATION = 91 * 86_400;
/** Of certificates that Kubernetes' own signers issue. */
const MAX_KUBERNETES_EXPIRATION = 86_400;
const CONFLICT = 'conflicting duplicate paths';

/** Refuses a path that another projection has already. */
function conflictErrors(path: string, whole: FieldPath, paths: Set<string>): FieldError[] {
  if (paths.has(path)) return [invalid(whole, path, CONFLICT)];
  paths.add(path);
  return [];
}

/** Names begin with their signer's, if they have one: `example.com:signer:name`. */
function bundleNameErrors(name: string, path: FieldPath): FieldError[] {
  const last = name.slice(name.lastIndexOf(':') + 1);
  return nameIsDnsSubdomain(last).map((text) => invalid(path, name, `not a valid clustertrustbundlename: ${text}`));
}

/** Validates the projection of a ClusterTrustBundle. `whole` is the path of the volume. */
export function trustBundleErrors(
  source: core.ClusterTrustBundleProjection,
  at: FieldPath,
  whole: FieldPath,
  paths: Set<string>,
): FieldError[] {
  const { name, signerName } = source;
  const errors: FieldError[] = [];
  if (typeof name === 'string' && typeof signerName === 'string') {
    errors.push(invalid(at, source, 'only one of name and signerName may be used'));
  } else if (typeof name === 'string') {
    if (name === '') errors.push(required(at.child('name'), 'must be a valid object name'));
    errors.push(...bundleNameErrors(name, at.child('name')));
    const selector = source.labelSelector;
    if (selector !== undefined) {
      errors.push(invalid(at.child('labelSelector'), selector, 'labelSelector must be unset if name is specified'));
    }
  } else if (typeof signerName === 'string') {
    if (signerName === '') errors.push(required(at.child('signerName'), 'must be a valid signer name'));
    errors.push(...validateSignerName(at.child('signerName'), signerName));
    const selector = source.labelSelector;
    if (selector !== undefined) errors.push(...validateLabelSelector(selector, at.child('labelSelector')));
  } else errors.push(required(at, 'either name or signerName must be specified'));
  const path = source.path ?? '';
  if (path === '') errors.push(required(at.child('path')));
  return [...errors, ...filePathErrors(path, at.child('path')), ...conflictErrors(path, whole, paths)];
}

/** Validates the projection of a certificate for the pod. */
export function podCertificateErrors(
  source: core.PodCertificateProjection,
  at: FieldPath,
  whole: FieldPath,
  paths: Set<string>,
): FieldError[] {
  const signer = source.signerName ?? '';
  const errors = validateSignerName(at.child('signerName'), signer);
  const keyType = source.keyType ?? '';
  if (!KEY_TYPES.includes(keyType)) errors.push(notSupported(at.child('keyType'), keyType, KEY_TYPES));
  const expires = integerOf(source.maxExpirationSeconds);
  if (expires !== undefined) {
    const path = at.child('maxExpirationSeconds');
    const most = signer.startsWith('kubernetes.io/') ? MAX_KUBERNETES_EXPIRATION : MAX_EXPIRATION;
    const bound = (text: string): FieldError =>
      invalid(path, expires, `if provided, maxExpirationSeconds must be ${text}`);
    if (expires < MIN_EXPIRATION) errors.push(bound(`>= ${MIN_EXPIRATION}`));
    if (expires > most) errors.push(bound(`<= ${most}`));
  }
  const files = (['credentialBundlePath', 'keyPath', 'certificateChainPath'] as const).filter(
    (name) => (source[name] ?? '') !== '',
  );
  for (const name of files) {
    const path = source[name] ?? '';
    errors.push(...filePathErrors(path, at.child(name)), ...conflictErrors(path, whole, paths));
  }
  if (files.length === 0) {
    errors.push(required(at, 'specify at least one of credentialBundlePath, keyPath, and certificateChainPath'));
  }
  return errors;
}
