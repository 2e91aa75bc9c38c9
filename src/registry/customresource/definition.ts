import { type JsonObject, objectAt, objectsOf, stringAt, stringsOf, textAt } from '../../apimachinery/json/json.js';
import type { KubeObject } from '../../apimachinery/meta/meta.js';
import type { StoredType } from '../generic/store/resource-store.js';

/** The parts of a validated CustomResourceDefinition or ResourceDefinition that are needed to serve it. */
export interface Definition {
  readonly name: string;
  readonly uid: string;
  readonly group: string;
  readonly namespaced: boolean;
  readonly names: DefinitionNames;
  readonly versions: readonly DefinitionVersion[];
  readonly storageVersion: string;
  readonly preserveUnknownFields: boolean;
  /** The conversion strategy, `None` or `Webhook`, with the webhook's settings. */
  readonly conversion: JsonObject | undefined;
}

interface DefinitionNames {
  readonly plural: string;
  readonly singular: string;
  readonly kind: string;
  readonly listKind: string;
  readonly shortNames: readonly string[];
  readonly categories: readonly string[];
}

export interface DefinitionVersion {
  readonly name: string;
  readonly served: boolean;
  readonly deprecated: boolean;
  readonly deprecationWarning: string | undefined;
  readonly schema: JsonObject | undefined;
  readonly hasStatus: boolean;
  readonly scale: JsonObject | undefined;
  readonly columns: readonly JsonObject[];
  /** JSON paths as written, with the leading dot. */
  readonly selectableFields: readonly string[];
}

/** Returns the definition's type for its store. */
export const storedType = ({ group, names, namespaced }: Definition): StoredType => ({
  group,
  resource: names.plural,
  namespaced,
});

/** Reads a definition's spec, and the accepted names of its status. */
export function readDefinition(crd: KubeObject): Definition {
  const spec = objectAt(crd, 'spec') ?? {};
  const names = objectAt(objectAt(crd, 'status'), 'acceptedNames') ?? objectAt(spec, 'names') ?? {};
  const versions = objectsOf(spec['versions']).map(readVersion);
  const kind = textAt(names, 'kind');
  return {
    name: crd.metadata.name ?? '',
    uid: crd.metadata.uid ?? '',
    group: textAt(spec, 'group'),
    namespaced: stringAt(spec, 'scope') === 'Namespaced',
    names: {
      plural: textAt(objectAt(spec, 'names'), 'plural'),
      singular: stringAt(names, 'singular') ?? kind.toLowerCase(),
      kind,
      listKind: stringAt(names, 'listKind') ?? `${kind}List`,
      shortNames: stringsOf(names['shortNames']),
      categories: stringsOf(names['categories']),
    },
    versions,
    storageVersion: textAt(
      objectsOf(spec['versions']).find((v) => v['storage'] === true),
      'name',
    ),
    preserveUnknownFields: spec['preserveUnknownFields'] === true,
    conversion: objectAt(spec, 'conversion'),
  };
}

function readVersion(version: JsonObject): DefinitionVersion {
  const subresources = objectAt(version, 'subresources');
  return {
    name: textAt(version, 'name'),
    served: version['served'] === true,
    deprecated: version['deprecated'] === true,
    deprecationWarning: stringAt(version, 'deprecationWarning'),
    schema: objectAt(objectAt(version, 'schema'), 'openAPIV3Schema'),
    hasStatus: objectAt(subresources, 'status') !== undefined,
    scale: objectAt(subresources, 'scale'),
    columns: objectsOf(version['additionalPrinterColumns']),
    selectableFields: objectsOf(version['selectableFields']).map((field) => textAt(field, 'jsonPath')),
  };
}
