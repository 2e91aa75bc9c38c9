import { toYaml } from '../../apimachinery/yaml/yaml.js';
import { sizeText } from '../../util/text/size-text.js';
import type { Plan, TypePlan } from './plan.js';
import { serviceAccount } from '../../adoption/preflight/rights.js';

/** Formats a plan as text. */
export function planText(plan: Plan, account: string): string {
  const lines = [`Group ${plan.group}`, ''];
  if (plan.types.length > 0) lines.push(...table(plan.types), '');
  const sections: readonly (readonly [string, readonly string[]])[] = [
    ['Admission webhooks and policies that match the group', plan.admission.map(admissionText)],
    ['Quotas that count its objects, and continue to do so', plan.quotas],
    ['Objects outside the group that its objects own, and continue to own', dependentTexts(plan)],
    ['What changes for users', plan.changes],
    ['Blocked', plan.blocks],
  ];
  for (const [title, entries] of sections) {
    if (entries.length > 0) lines.push(`${title}:`, ...entries.map((entry) => `  - ${entry}`), '');
  }
  if (plan.missingRights.length > 0) {
    lines.push(`Permissions that ${account} lacks; apply:`, '', rightsText(plan, account));
  }
  return lines.join('\n').trimEnd();
}

const admissionText = ({ name, enforced, note }: Plan['admission'][number]): string =>
  `${name}: ${enforced ? 'Annex enforces it' : 'Annex does NOT enforce it'}${note === '' ? '' : `; ${note}`}`;

function dependentTexts({ dependents: { counts, unread } }: Plan): string[] {
  const owned = Object.entries(counts).map(([resource, count]) => `${count} ${resource}`);
  return unread.length === 0
    ? owned
    : [...owned, `you may not list ${unread.join(', ')}: dependents there are unknown`];
}

function table(types: readonly TypePlan[]): string[] {
  const head = ['RESOURCE', 'SCOPE', 'VERSIONS', 'CONVERSION', 'OBJECTS', 'SIZE', 'FINALIZERS', 'MANAGERS', 'OWNERS'];
  const rows = types.map((type) => [
    type.resource,
    type.scope,
    type.versions.map((version) => (version === type.storedAs ? `${version}*` : version)).join(','),
    type.conversion,
    String(type.objects),
    sizeText(type.bytes),
    String(type.withFinalizers),
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

/** Returns the ClusterRole with the rights that Annex lacks, and its binding; the chart creates the same for `adoption.groups`. */
function rightsText({ group, missingRights }: Plan, account: string): string {
  const name = `annex-adoption:${group}`;
  const { namespace, name: accountName } = serviceAccount(account);
  const apiVersion = 'rbac.authorization.k8s.io/v1';
  const role = {
    apiVersion,
    kind: 'ClusterRole',
    metadata: { name },
    rules: [...missingRights],
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
