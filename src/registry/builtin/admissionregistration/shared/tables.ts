import type { LabelSelector } from '../../../../apimachinery/generated/meta.js';
import type { ParamRef } from '../../../../apimachinery/generated/admissionregistration.js';
import type { Binding, Policy } from './type.js';
import { textAt } from '../../../../apimachinery/json/json.js';
import { compareUtf8 } from '../../../../apimachinery/meta/meta.js';
import type { TableConvertor } from '../../../rest/interfaces.js';
import { Age, tableOf } from '../../shared/table.js';

const UNSET = '<unset>';
const path = (resource: string): string => `apis/admissionregistration.k8s.io/v1/${resource}`;

/** Returns the table of policies. `list` is the list that is counted. */
export const policyTable = (resource: string, list: 'validations' | 'mutations'): TableConvertor =>
  tableOf(path(resource), (policy: Policy) => {
    const spec = policy.spec;
    const kind = spec?.paramKind;
    const params = kind === undefined ? UNSET : `${kind.apiVersion ?? ''}/${kind.kind ?? ''}`;
    return [
      policy.metadata.name ?? '',
      ((spec?.[list] as readonly unknown[] | undefined) ?? []).length,
      params,
      Age.of(policy),
    ];
  });

export const bindingTable = (resource: string): TableConvertor =>
  tableOf(path(resource), (binding: Binding) => {
    const spec = binding.spec;
    const policy = spec?.policyName ?? '';
    return [binding.metadata.name ?? '', policy, paramText(spec?.paramRef), Age.of(binding)];
  });

function paramText(ref: ParamRef | undefined): string {
  const name = ref?.name ?? '';
  if (name !== '') return `${ref?.namespace || '*'}/${name}`;
  const selector = ref?.selector;
  return selector === undefined ? UNSET : selectorText(selector);
}

/** Formats a selector as Go prints the message. */
function selectorText(selector: LabelSelector): string {
  const labels = selector.matchLabels ?? {};
  const pairs = Object.keys(labels)
    .sort(compareUtf8)
    .map((key) => `${key}: ${textAt(labels, key)},`);
  const requirements = (selector.matchExpressions ?? []).map(
    (term) =>
      `LabelSelectorRequirement{Key:${term.key ?? ''},Operator:${term.operator ?? ''},Values:[${(term.values ?? []).join(' ')}],},`,
  );
  return `&LabelSelector{MatchLabels:map[string]string{${pairs.join('')}},MatchExpressions:[]LabelSelectorRequirement{${requirements.join('')}},}`;
}
