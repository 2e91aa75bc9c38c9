import { metadataFieldNames } from '../../apimachinery/selectors/field-selectors.js';
import { formatGroupVersion, type KubeObject } from '../../apimachinery/meta/meta.js';
import type { CachedObject } from '../../storage/cacher/interfaces.js';
import { DetachedObject } from '../../storage/detached-object.js';
import { encodeObject } from '../../storage/encode.js';
import { encodeRecord, readRecord } from '../../storage/record.js';
import type { ComputedKind, ComputedStorage } from '../rest/computed.js';
import type { ServedKind } from '../rest/served.js';
import { representations } from './store/representations.js';

/** The verbs that a computed kind can have, in discovery's order. */
const VERBS = ['create', 'get', 'list', 'watch'] as const;

/** An installed computed kind. */
export interface ComputedApi {
  readonly kind: 'computed';
  readonly served: ServedKind;
  readonly storage: ComputedStorage;
}

/** Returns everything needed to serve a computed kind. */
export function computedApi(described: ComputedKind): ComputedApi {
  const { group, version, kind, resource, singular, namespaced, shortNames = [], table, schema, storage } = described;
  const gvk = { group, version, kind };
  const groupVersion = formatGroupVersion(gvk);
  const id = `${groupVersion}/${resource}`;
  const custom = schema !== undefined;
  const verbs = VERBS.filter((verb) => verb in storage);
  const toObject = (object: CachedObject): KubeObject => object.decode() as KubeObject;
  const { json, listItem, itemTree } = representations(id, { custom }, toObject);
  const served: ServedKind = {
    type: {
      group,
      resource,
      singular,
      kind,
      listKind: `${kind}List`,
      shortNames,
      categories: [],
      namespaced,
      custom,
      noProtobuf: custom,
    },
    version: { name: version, served: true, deprecated: false, table, selectableFields: [] },
    groupVersion,
    id,
    json,
    listItem,
    itemTree,
    toObject,
    gvk,
    groupResource: { group, resource },
    verbs,
    discovery: [
      { name: resource, singularName: singular, namespaced, kind, verbs, ...(shortNames.length > 0 && { shortNames }) },
    ],
    fieldNames: metadataFieldNames,
    openApiSchema: schema,
  };
  return { kind: 'computed', served, storage };
}

/** An object of a computed kind, as responses take it. */
export class ComputedObject extends DetachedObject {
  override readonly attributes: CachedObject['attributes'];

  constructor(object: KubeObject, revision: number) {
    const { name = '', namespace = '', labels } = object.metadata;
    const key = namespace === '' ? name : `${namespace}/${name}`;
    super({ key, revision, ...readRecord(encodeRecord(encodeObject(object), revision)) });
    this.attributes = { labels, fields: { 'metadata.name': name, 'metadata.namespace': namespace } };
  }
}
