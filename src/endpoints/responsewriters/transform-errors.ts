import { ApiError } from '../../apimachinery/meta/errors.js';
import type { ResourceType } from '../../registry/rest/interfaces.js';

/** The name of the type inside kube-apiserver, which its refusals show. */
function internalName(type: Pick<ResourceType, 'group'>, kind: string): string {
  const first = type.group.split('.', 1)[0] ?? '';
  const home = type.group === '' || type.group === 'events.k8s.io' ? 'core' : first;
  return `*${home}.${kind}`;
}

const notAcceptable = (message: string): ApiError => new ApiError(406, 'NotAcceptable', message);

/** PartialObjectMetadata was asked for, and the answer is a list. */
export function newIsList(type: ResourceType): ApiError {
  const name = type.custom ? '*unstructured.UnstructuredList' : internalName(type, type.listKind);
  return notAcceptable(`you requested PartialObjectMetadata, but the requested object is a list (${name})`);
}

/** PartialObjectMetadataList was asked for, and the answer is an object. */
export function newIsNoList(type: Pick<ResourceType, 'custom' | 'group' | 'kind'>): ApiError {
  if (type.custom) return new ApiError(500, '', 'content is not a list');
  return notAcceptable(
    `you requested PartialObjectMetadataList, but the requested object is not a list (${internalName(type, type.kind)})`,
  );
}
