import type { Node } from '../../../../apimachinery/generated/core.js';
import { nameIsDnsSubdomain } from '../../../../apimachinery/validation/names.js';
import { builtinType } from '../../shared/resource-type.js';
import { applyNodeDefaults, nodeStatusStrategy, nodeStrategy } from './strategy.js';
import { conditionsOf } from '../../../../apimachinery/meta/conditions.js';
import { compareUtf8 } from '../../../../apimachinery/meta/meta.js';
import { Age, tableOf } from '../../shared/table.js';

const ROLE_PREFIX = 'node-role.kubernetes.io/';
const NONE = '<none>';

function status(node: Node): string {
  const ready = conditionsOf(node)
    .filter((condition) => condition['type'] === 'Ready')
    .pop();
  const first = ready === undefined ? 'Unknown' : ready['status'] === 'True' ? 'Ready' : 'NotReady';
  return node.spec?.unschedulable === true ? `${first},SchedulingDisabled` : first;
}

function roles(node: Node): string {
  const found = new Set<string>();
  for (const [key, value] of Object.entries(node.metadata.labels ?? {})) {
    if (key.startsWith(ROLE_PREFIX) && key.length > ROLE_PREFIX.length) found.add(key.slice(ROLE_PREFIX.length));
    else if (key === 'kubernetes.io/role' && value !== '') found.add(value);
  }
  return found.size === 0 ? NONE : Array.from(found).sort(compareUtf8).join(',');
}

function address(node: Node, type: string): string {
  const found = (node.status?.addresses ?? []).find((entry) => entry.type === type);
  return found === undefined ? NONE : (found.address ?? '');
}

const nodeTable = tableOf<Node>('api/v1/nodes', (node) => {
  const info = node.status?.nodeInfo;
  const known = (field: 'osImage' | 'kernelVersion' | 'containerRuntimeVersion'): string =>
    info?.[field] || '<unknown>';
  const architecture = info?.architecture ?? '';
  return [
    node.metadata.name ?? '',
    status(node),
    roles(node),
    Age.of(node),
    info?.kubeletVersion ?? '',
    address(node, 'InternalIP'),
    address(node, 'ExternalIP'),
    known('osImage'),
    known('kernelVersion') + (architecture === '' ? '' : ` (${architecture})`),
    known('containerRuntimeVersion'),
  ];
});

export const nodes = builtinType<Node>({
  group: '',
  resource: 'nodes',
  kind: 'Node',
  shortNames: ['no'],
  namespaced: false,
  registryPath: 'minions',
  validateName: nameIsDnsSubdomain,
  strategy: nodeStrategy,
  subresources: { status: nodeStatusStrategy },
  table: nodeTable,
  applyDefaults: applyNodeDefaults,
  selectableFields: ['spec.unschedulable'],
  fields: (node) => ({ 'spec.unschedulable': String(node.spec?.unschedulable === true) }),
});
