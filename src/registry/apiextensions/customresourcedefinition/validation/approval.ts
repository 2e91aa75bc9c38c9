import { type FieldError, FieldPath, invalid, required } from '../../../../apimachinery/meta/field-error.js';
import { type KubeObject, quote } from '../../../../apimachinery/meta/meta.js';
import { isRequestUri } from '../../../../schema/formats/request-uri.js';

const APPROVED_ANNOTATION = 'api-approved.kubernetes.io';

/** Reports whether a group belongs to the Kubernetes community. */
export function isProtectedGroup(group: string): boolean {
  return ['k8s.io', 'kubernetes.io'].some((owner) => group === owner || group.endsWith(`.${owner}`));
}

export interface Approval {
  readonly state: 'invalid' | 'missing' | 'approved' | 'bypassed';
  readonly reason: string;
}

const PULL_REQUEST = 'see https://github.com/kubernetes/enhancements/pull/1111';

export function approvalState(crd: KubeObject): Approval {
  const annotation = crd.metadata.annotations?.[APPROVED_ANNOTATION] ?? '';
  const must = `protected groups must have approval annotation ${quote(APPROVED_ANNOTATION)}`;
  if (annotation === '') return { state: 'missing', reason: `${must}, ${PULL_REQUEST}` };
  if (annotation.startsWith('unapproved')) return { state: 'bypassed', reason: `not approved: ${quote(annotation)}` };
  if (isRequestUri(annotation) && /^[a-zA-Z][a-zA-Z0-9+.-]*:\/\/[^/]/.test(annotation)) {
    return { state: 'approved', reason: `approved in ${annotation}` };
  }
  return {
    state: 'invalid',
    reason: `${must} with either a URL or a reason starting with "unapproved", ${PULL_REQUEST}`,
  };
}

/** Requires definitions of protected groups to state whether they were approved. An update may keep the previous state. */
export function validateApproval(crd: KubeObject, group: string, old: KubeObject | undefined): FieldError[] {
  if (!isProtectedGroup(group)) return [];
  const { state, reason } = approvalState(crd);
  if (old !== undefined && approvalState(old).state === state) return [];
  const path = FieldPath.of('metadata', 'annotations').key(APPROVED_ANNOTATION);
  if (state === 'missing') return [required(path, reason)];
  return state === 'invalid' ? [invalid(path, crd.metadata.annotations?.[APPROVED_ANNOTATION] ?? '', reason)] : [];
}
