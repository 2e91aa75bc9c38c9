import { deepCopy, type JsonObject, objectAt, stringAt } from '../../apimachinery/json/json.js';
import { withFloats } from '../../apimachinery/json/float.js';
import { objectsOf } from '../../apimachinery/json/values.js';
import { aggregate } from '../../apimachinery/meta/field-error.js';
import type { KubeObject } from '../../apimachinery/meta/meta.js';
import { validateCustomResourceDefinition } from '../../registry/apiextensions/customresourcedefinition/validation/validation.js';
import {
  validateDefaultByRules,
  validateRules,
} from '../../registry/apiextensions/customresourcedefinition/validation/rule-checks.js';
import { setStoredForm } from '../../registry/apiextensions/customresourcedefinition/defaults.js';

const LAST_APPLIED = 'kubectl.kubernetes.io/last-applied-configuration';

/** One type of the group, as the cluster serves it. */
export interface AdoptedType {
  /** `<plural>.<group>`, also the name of its definition. */
  readonly resource: string;
  readonly plural: string;
  readonly kind: string;
  readonly namespaced: boolean;
  /** The version in which it is stored there, and read. */
  readonly version: string;
  readonly versions: readonly string[];
  readonly hasConversionWebhook: boolean;
}

export function adoptedType(crd: KubeObject): AdoptedType {
  const spec = objectAt(crd, 'spec');
  const names = objectAt(spec, 'names');
  const versions = objectsOf(spec?.['versions']);
  const stored = versions.find((version) => version['storage'] === true);
  return {
    resource: crd.metadata.name ?? '',
    plural: stringAt(names, 'plural') ?? '',
    kind: stringAt(names, 'kind') ?? '',
    namespaced: stringAt(spec, 'scope') === 'Namespaced',
    version: readableVersion(stored, versions),
    versions: versions
      .filter((version) => version['served'] === true)
      .map((version) => stringAt(version, 'name') ?? ''),
    hasConversionWebhook: stringAt(objectAt(spec, 'conversion'), 'strategy') === 'Webhook',
  };
}

/** The stored version loses nothing; where it is not served, the first that is. */
function readableVersion(stored: JsonObject | undefined, versions: readonly JsonObject[]): string {
  if (stored?.['served'] === true) return stringAt(stored, 'name') ?? '';
  return (
    stringAt(
      versions.find((version) => version['served'] === true),
      'name',
    ) ?? ''
  );
}

/** The ResourceDefinition that a CustomResourceDefinition becomes. */
function definitionOf(crd: KubeObject): KubeObject {
  const { name = '', labels, annotations = {} } = crd.metadata;
  const { [LAST_APPLIED]: _, ...kept } = annotations;
  return {
    apiVersion: 'kubeannex.io/v1',
    kind: 'ResourceDefinition',
    metadata: {
      name,
      ...(labels !== undefined && { labels: { ...labels } }),
      ...(Object.keys(kept).length > 0 && { annotations: kept }),
    },
    spec: deepCopy(objectAt(crd, 'spec') ?? {}),
  };
}

/** Why Annex could not serve the definition; '' where it can. */
export function whyRefused(crd: KubeObject): string {
  const definition = definitionOf(crd);
  setStoredForm(definition);
  const errors = validateCustomResourceDefinition(withFloats(definition), { validateRules, validateDefaultByRules });
  return errors.length === 0 ? '' : `${definition.metadata.name ?? ''}: ${aggregate(errors)}`;
}
