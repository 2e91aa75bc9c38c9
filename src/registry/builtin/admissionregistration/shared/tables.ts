import { type JsonObject, objectAt, objectsOf, stringsOf, textAt } from '../../../../apimachinery/json/json.js';
import { compareUtf8 } from '../../../../apimachinery/meta/meta.js';
import type { TableConvertor } from '../../../rest/interfaces.js';
import { Age, tableOf } from '../../shared/table.js';

const UNSET = '<unset>';
const path = (resource: string): string => `apis/admissionregistration.k8s.io/v1/${resource}`;

/** Returns the table of policies. `list` is the list that is counted. */
export const policyTable = (resource: string, list: 'validations' | 'mutations'): TableConvertor =>
  tableOf(path(resource), (policy) => {
    const spec = objectAt(policy, 'spec');
    const kind = objectAt(spec, 'paramKind');
    const params = kind === undefined ? UNSET : `${textAt(kind, 'apiVersion')}/${textAt(kind, 'kind')}`;
    return [policy.metadata.name ?? '', objectsOf(spec?.[list]).length, params, Age.of(policy)];
  });

export const bindingTable = (resource: string): TableConvertor =>
  tableOf(path(resource), (binding) => {
    const spec = objectAt(binding, 'spec');
    const policy = textAt(spec, 'policyName');
    return [binding.metadata.name ?? '', policy, paramText(objectAt(spec, 'paramRef')), Age.of(binding)];
  });

function paramText(ref: JsonObject | undefined): string {
  const name = textAt(ref, 'name');
  if (name !== '') return `${textAt(ref, 'namespace') || '*'}/${name}`;
  const selector = objectAt(ref, 'selector');
  return selector === undefined ? UNSET : selectorText(selector);
}

/** Formats a selector as Go prints the message. */
function selectorText(selector: JsonObject): string {
  const labels = objectAt(selector, 'matchLabels') ?? {};
  const pairs = Object.keys(labels)
    .sort(compareUtf8)
    .map((key) => `${key}: ${textAt(labels, key)},`);
  const requirements = objectsOf(selector['matchExpressions']).map(
    (term) =>
      `LabelSelectorRequirement{Key:${textAt(term, 'key')},Operator:${textAt(term, 'operator')},Values:[${stringsOf(term['values']).join(' ')}],},`,
  );
  return `&LabelSelector{MatchLabels:map[string]string{${pairs.join('')}},MatchExpressions:[]LabelSelectorRequirement{${requirements.join('')}},}`;
}
