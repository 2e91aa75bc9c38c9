import { toYaml } from '../../apimachinery/yaml/yaml.js';
import type { Plan, TypePlan } from './plan.js';

/** A plan for people. */
export function planText(plan: Plan, account: string): string {
  const lines = [`Group ${plan.group}`, ''];
  if (plan.types.length > 0) lines.push(...table(plan.types), '');
  const sections: readonly (readonly [string, readonly string[]])[] = [
    ['Admission that matches the group', plan.admission],
    ['Quotas on its objects', plan.quotas],
    ['Good to know', plan.notes],
    ['Blocked', plan.blocks],
  ];
  for (const [title, entries] of sections) {
    if (entries.length > 0) lines.push(`${title}:`, ...entries.map((entry) => `  - ${entry}`), '');
  }
  if (plan.missingRights.length > 0) {
    lines.push(`Rights that ${account} lacks; apply:`, '', rightsText(plan, account));
  }
  return lines.join('\n').trimEnd();
}

function table(types: readonly TypePlan[]): string[] {
  const head = ['RESOURCE', 'SCOPE', 'VERSIONS', 'CONVERSION', 'OBJECTS', 'SIZE', 'MANAGERS', 'OWNERS'];
  const rows = types.map((type) => [
    type.resource,
    type.scope,
    type.versions.map((version) => (version === type.storedAs ? `${version}*` : version)).join(','),
    type.conversion,
    String(type.objects),
    sizeText(type.bytes),
    type.managers.join(',') || '-',
    type.owners.join(',') || '-',
  ]);
  const widths = head.map((title, i) => Math.max(title.length, ...rows.map((row) => row[i]?.length ?? 0)));
  return [head, ...rows].map((row) =>
    row
      .map((cell, i) => cell.padEnd(widths[i] ?? 0))
      .join('   ')
      .trimEnd(),
  );
}

function sizeText(bytes: number): string {
  if (bytes < 1 << 10) return `${bytes} B`;
  if (bytes < 1 << 20) return `${(bytes / (1 << 10)).toFixed(1)} KiB`;
  return `${(bytes / (1 << 20)).toFixed(1)} MiB`;
}

/** The ClusterRole that gives Annex what it lacks, and its binding. */
function rightsText({ group, missingRights }: Plan, account: string): string {
  const name = `annex-adoption:${group}`;
  const [namespace = '', accountName = ''] = account.split('/');
  const resources = missingRights.map(({ resource }) => resource);
  const apiVersion = 'rbac.authorization.k8s.io/v1';
  const role = {
    apiVersion,
    kind: 'ClusterRole',
    metadata: { name },
    rules: [{ apiGroups: [group], resources, verbs: ['get', 'list', 'watch'] }],
  };
  const binding = {
    apiVersion,
    kind: 'ClusterRoleBinding',
    metadata: { name },
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name },
    subjects: [{ kind: 'ServiceAccount', name: accountName, namespace }],
  };
  return `${toYaml(role)}---\n${toYaml(binding)}`;
}
