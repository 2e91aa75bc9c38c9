import { deepEqual, isObject, objectAt } from '../../../apimachinery/json/json.js';
import { quote } from '../../../apimachinery/meta/meta.js';
import type { AdmissionAttributes } from '../../interfaces.js';
import { refusal } from '../../refusal.js';

/** Labels in Kubernetes' own domains that a kubelet may set on its node. */
const KUBELET_LABELS = new Set([
  'kubernetes.io/hostname',
  'topology.kubernetes.io/zone',
  'topology.kubernetes.io/region',
  'failure-domain.beta.kubernetes.io/zone',
  'failure-domain.beta.kubernetes.io/region',
  'beta.kubernetes.io/instance-type',
  'node.kubernetes.io/instance-type',
  'kubernetes.io/os',
  'kubernetes.io/arch',
  'beta.kubernetes.io/os',
  'beta.kubernetes.io/arch',
]);
const KUBELET_DOMAINS = ['kubelet.kubernetes.io', 'node.kubernetes.io'];
const KUBERNETES_DOMAINS = ['kubernetes.io', 'k8s.io'];
const RESTRICTED_DOMAINS = ['node-restriction.kubernetes.io'];

type Labels = Readonly<Record<string, string>>;

const within = (domain: string, domains: readonly string[]): boolean =>
  domains.some((parent) => domain === parent || domain.endsWith(`.${parent}`));

/** Reports whether a kubelet must not set the label: with labels that node selectors use it could steer workloads to its node. */
function isForbidden(key: string): boolean {
  const slash = key.indexOf('/');
  const domain = slash < 0 ? '' : key.slice(0, slash);
  if (within(domain, RESTRICTED_DOMAINS)) return true;
  return within(domain, KUBERNETES_DOMAINS) && !KUBELET_LABELS.has(key) && !within(domain, KUBELET_DOMAINS);
}

function forbiddenChanges(after: Labels = {}, before: Labels = {}): string[] {
  const keys = new Set([...Object.keys(after), ...Object.keys(before)]);
  return [...keys].filter((key) => after[key] !== before[key] && isForbidden(key)).sort();
}

/** Allows a node to write its own Node object, except for restricted labels, taints, owner references and configSource. */
export function admitNode(node: string, attributes: AdmissionAttributes): void {
  const { object, oldObject, operation } = attributes;
  const requested = attributes.name === '' ? (object?.metadata.name ?? '') : attributes.name;
  if (requested !== node) {
    throw refusal(attributes, `node ${quote(node)} is not allowed to modify node ${quote(requested)}`);
  }
  if (object === undefined) return;
  const source = objectAt(objectAt(object, 'spec'), 'configSource');
  if (operation === 'CREATE') {
    if (source !== undefined) {
      throw refusal(attributes, `node ${quote(node)} is not allowed to create pods with a non-nil configSource`);
    }
    const labels = forbiddenChanges(object.metadata.labels);
    if (labels.length > 0) {
      throw refusal(attributes, `node ${quote(node)} is not allowed to set the following labels: ${labels.join(', ')}`);
    }
    return;
  }
  if (oldObject === undefined) return;
  const spec = objectAt(object, 'spec') ?? {};
  const oldSpec = objectAt(oldObject, 'spec') ?? {};
  if (isObject(source) && !deepEqual(source, oldSpec['configSource'])) {
    throw refusal(
      attributes,
      `node ${quote(node)} is not allowed to update configSource to a new non-nil configSource`,
    );
  }
  if (!deepEqual(spec['taints'] ?? [], oldSpec['taints'] ?? [])) {
    throw refusal(attributes, `node ${quote(node)} is not allowed to modify taints`);
  }
  if (!deepEqual(object.metadata.ownerReferences ?? [], oldObject.metadata.ownerReferences ?? [])) {
    throw refusal(attributes, `node ${quote(node)} is not allowed to modify ownerReferences`);
  }
  const labels = forbiddenChanges(object.metadata.labels, oldObject.metadata.labels);
  if (labels.length > 0) throw refusal(attributes, `is not allowed to modify labels: ${labels.join(', ')}`);
}
