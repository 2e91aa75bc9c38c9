import type { Pod } from '../../../../apimachinery/generated/core.js';
import { nameIsDnsSubdomain } from '../../../../apimachinery/validation/names.js';
import { builtinType } from '../../shared/resource-type.js';
import { applyPodDefaults } from './defaults.js';
import { podDeletion, podStatusStrategy, podStrategy } from './strategy.js';
import { podTable } from './table.js';

const SPEC_FIELDS = ['nodeName', 'restartPolicy', 'schedulerName', 'serviceAccountName'] as const;
const STATUS_FIELDS = ['phase', 'podIP', 'nominatedNodeName'] as const;

export const pods = builtinType<Pod>({
  group: '',
  resource: 'pods',
  kind: 'Pod',
  shortNames: ['po'],
  categories: ['all'],
  namespaced: true,
  validateName: nameIsDnsSubdomain,
  strategy: podStrategy,
  subresources: { status: podStatusStrategy },
  table: podTable,
  applyDefaults: applyPodDefaults,
  deletion: podDeletion,
  returnsDeletedObject: true,
  selectableFields: [
    ...SPEC_FIELDS.map((field) => `spec.${field}`),
    'spec.hostNetwork',
    // The former name of spec.nodeName.
    'spec.host',
    ...STATUS_FIELDS.map((field) => `status.${field}`),
    'status.podIPs',
  ],
  fields: (pod) => {
    const spec = pod.spec;
    const status = pod.status;
    const fields: Record<string, string> = {};
    for (const field of SPEC_FIELDS) fields[`spec.${field}`] = spec?.[field] ?? '';
    for (const field of STATUS_FIELDS) fields[`status.${field}`] = status?.[field] ?? '';
    fields['spec.host'] = fields['spec.nodeName'] ?? '';
    fields['spec.hostNetwork'] = String(spec?.hostNetwork === true);
    fields['status.podIPs'] = fields['status.podIP'] ?? '';
    return fields;
  },
});
