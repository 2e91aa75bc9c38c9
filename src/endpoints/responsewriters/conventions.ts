import { ApiError } from '../../apimachinery/meta/errors.js';
import type { GroupKind, GroupVersionKind } from '../../apimachinery/meta/meta.js';
import type { JsonObject } from '../../apimachinery/json/json.js';
import type { ResourceType } from '../../registry/rest/interfaces.js';
import { emptyObjectOf } from '../../apimachinery/scheme/empty-objects.js';

/** Parts of a response that kube-apiserver writes differently for built-in types and for custom resources, which have no Go type. */
export interface ResponseConventions {
  /** Members of a list's metadata that are written even if empty. */
  readonly listMeta: JsonObject;
  /** The error for a request for PartialObjectMetadata whose response is a list. */
  newIsListError(type: Pick<ResourceType, 'group' | 'listKind'>): ApiError;
  /** The error for a request for PartialObjectMetadataList whose response is a single object. */
  newNotListError(type: Pick<GroupVersionKind, 'group' | 'kind'>): ApiError;
  /** The fields printed for an empty object, such as the one in a BOOKMARK event. */
  emptyFields(kind: GroupKind): JsonObject;
}

const notAcceptable = (message: string): ApiError => new ApiError(406, 'NotAcceptable', message);

const listRefusal = (name: string): ApiError =>
  notAcceptable(`you requested PartialObjectMetadata, but the requested object is a list (${name})`);

/** Returns the Go type name inside kube-apiserver, which appears in its error messages. */
function internalName({ group }: { readonly group: string }, kind: string): string {
  const first = group.split('.', 1)[0] ?? '';
  const home = group === '' || group === 'events.k8s.io' ? 'core' : first;
  return `*${home}.${kind}`;
}

export const builtinConventions: ResponseConventions = {
  listMeta: {},
  newIsListError: (type) => listRefusal(internalName(type, type.listKind)),
  newNotListError: (type) =>
    notAcceptable(
      `you requested PartialObjectMetadataList, but the requested object is not a list (${internalName(type, type.kind)})`,
    ),
  emptyFields: emptyObjectOf,
};

export const customResourceConventions: ResponseConventions = {
  listMeta: { continue: '' },
  newIsListError: () => listRefusal('*unstructured.UnstructuredList'),
  newNotListError: () => new ApiError(500, '', 'content is not a list'),
  emptyFields: () => ({}),
};
