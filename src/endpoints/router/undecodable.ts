import { ApiError, newInternalError, type StatusCause } from '../../apimachinery/meta/errors.js';
import { formatGroupResource, quote } from '../../apimachinery/meta/meta.js';
import type { ResourceStore } from '../../registry/generic/store/resource-store.js';
import { StorageError, type Undecodable } from '../../storage/errors.js';

/** The maximum number of objects that one response names. */
const MAX_CAUSES = 100;

/**
 * Returns the error for a request that found objects that cannot be decoded; undefined for any other error. `unsafe`: such
 * objects may be deleted unread, so the error names them.
 */
export function undecodableError(
  error: unknown,
  store: ResourceStore,
  verb: string,
  unsafe: boolean,
): ApiError | undefined {
  if (!(error instanceof StorageError) || error.code !== 'corrupt') return undefined;
  const objects = error.info.undecodable ?? [];
  const [first] = objects;
  if (!unsafe && first?.isUntransformable === true) {
    const isList = verb === 'list' || verb === 'deletecollection' || verb === 'watch';
    const key = quote(store.displayKey(first.key));
    return newInternalError(isList ? `unable to transform key ${key}: ${first.reason}` : first.reason);
  }
  if (!unsafe || first === undefined) return new ApiError(500, '', error.message);
  switch (verb) {
    case 'list':
    case 'deletecollection':
      return unreadableList(store, objects);
    case 'get':
    case 'delete':
      return newInternalError(storageError(first, store.displayKey(first.key).slice('/registry'.length)));
    default:
      return first.isUntransformable === true
        ? newInternalError(notDecodable(first))
        : new ApiError(500, '', notDecodable(first));
  }
}

function unreadableList(store: ResourceStore, objects: readonly Undecodable[]): ApiError {
  const { groupResource } = store;
  const causes: StatusCause[] = objects.slice(0, MAX_CAUSES).map((object) => {
    const key = store.displayKey(object.key);
    return { reason: 'UnexpectedServerResponse', message: storageError(object, key), field: key };
  });
  if (objects.length > MAX_CAUSES)
    causes.push({ reason: 'FieldValueTooMany', message: 'too many errors, the list is truncated' });
  return new ApiError(
    500,
    'StorageReadError',
    `failed to read one or more ${formatGroupResource(groupResource)} from the storage`,
    {
      name: 'list',
      ...(groupResource.group === '' ? {} : { group: groupResource.group }),
      kind: groupResource.resource,
      causes,
    },
  );
}

const storageError = (object: Undecodable, key: string): string =>
  `StorageError: corrupt object, Code: 7, Key: ${key}, ResourceVersion: 0, AdditionalErrorMsg: ${notDecodable(object)}`;

const notDecodable = ({ revision, reason: why, isUntransformable }: Undecodable): string =>
  isUntransformable === true
    ? `data from the storage is not transformable revision=0: ${why}`
    : `object not decodable revision=${String(revision)}: ${why}`;
