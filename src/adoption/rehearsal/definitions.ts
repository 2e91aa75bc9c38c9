import { servedVersions } from '../../registry/builtin/kubeannex/resource-definitions.js';
import { deepCopy, objectAt, objectsOf, stringAt } from '../../apimachinery/json/json.js';
import { withFloats } from '../../apimachinery/json/float.js';
import { aggregate } from '../../apimachinery/meta/field-error.js';
import type { KubeObject } from '../../apimachinery/meta/meta.js';
import { validateCustomResourceDefinition } from '../../registry/apiextensions/customresourcedefinition/validation/validation.js';
import { setStoredForm } from '../../registry/apiextensions/customresourcedefinition/defaults.js';

const LAST_APPLIED = 'kubectl.kubernetes.io/last-applied-configuration';

/** One type of the group, as served by the cluster. */
export interface AdoptedType {
  /** `<plural>.<group>`, also the name of its definition. */
  readonly resource: string;
  readonly plural: string;
  /** The version to read: the storage version, which loses nothing, or else the first served one; '' if none is served. */
  readonly version: string;
}

export function adoptedType(crd: KubeObject): AdoptedType {
  const spec = objectAt(crd, 'spec');
  const versions = servedVersions(crd);
  const stored = objectsOf(spec?.['versions']).find((version) => version['storage'] === true);
  const storedAs = stringAt(stored, 'name') ?? '';
  return {
    resource: crd.metadata.name ?? '',
    plural: stringAt(objectAt(spec, 'names'), 'plural') ?? '',
    version: versions.includes(storedAs) ? storedAs : (versions[0] ?? ''),
  };
}

/** Converts a CustomResourceDefinition to a ResourceDefinition. */
export function definitionOf(crd: KubeObject): KubeObject {
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

/** Returns why Annex cannot serve the definition; '' if it can. */
export function refusalReason(crd: KubeObject): string {
  const definition = definitionOf(crd);
  setStoredForm(definition);
  const errors = validateCustomResourceDefinition(withFloats(definition));
  return errors.length === 0 ? '' : `${definition.metadata.name ?? ''}: ${aggregate(errors)}`;
}
