import { ApiError } from '../../apimachinery/meta/errors.js';
import type { GroupVersionKind } from '../../apimachinery/meta/meta.js';
import type { JsonObject } from '../../apimachinery/json/json.js';
import type { ResourceType, VersionView } from '../../registry/rest/interfaces.js';
import { emptyFieldsOf } from './empty-fields.js';

/** What kube-apiserver writes in one way for built-in types and in another for custom resources, for which it has no Go type. */
export interface ResponseConventions {
  /** Members of a list's metadata that are there even where they say nothing. */
  readonly listMeta: JsonObject;
  /** PartialObjectMetadata was asked for, and the answer is a list. */
  newIsList(type: Pick<ResourceType, 'group' | 'listKind'>): ApiError;
  /** PartialObjectMetadataList was asked for, and the answer is an object. */
  newIsNoList(type: Pick<GroupVersionKind, 'group' | 'kind'>): ApiError;
  /** The fields of an object that has no content: a BOOKMARK carries one. */
  emptyFields(view: VersionView): JsonObject;
}

const notAcceptable = (message: string): ApiError => new ApiError(406, 'NotAcceptable', message);

const listRefusal = (name: string): ApiError =>
  notAcceptable(`you requested PartialObjectMetadata, but the requested object is a list (${name})`);

/** The name of the type inside kube-apiserver, which its refusals show. */
function internalName({ group }: { readonly group: string }, kind: string): string {
  const first = group.split('.', 1)[0] ?? '';
  const home = group === '' || group === 'events.k8s.io' ? 'core' : first;
  return `*${home}.${kind}`;
}

export const builtinConventions: ResponseConventions = {
  listMeta: {},
  newIsList: (type) => listRefusal(internalName(type, type.listKind)),
  newIsNoList: (type) =>
    notAcceptable(
      `you requested PartialObjectMetadataList, but the requested object is not a list (${internalName(type, type.kind)})`,
    ),
  emptyFields: (view) => emptyFieldsOf(`${view.groupVersion}/${view.type.kind}`),
};

export const customResourceConventions: ResponseConventions = {
  listMeta: { continue: '' },
  newIsList: () => listRefusal('*unstructured.UnstructuredList'),
  newIsNoList: () => new ApiError(500, '', 'content is not a list'),
  emptyFields: () => ({}),
};
