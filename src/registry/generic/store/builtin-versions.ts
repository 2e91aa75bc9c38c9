import { formatGroupVersion, type KubeObject } from '../../../apimachinery/meta/meta.js';
import { MissingVersionError, type VersionConverter } from '../../../managedfields/interfaces.js';
import type { BuiltinTypes } from '../../../structured-merge-diff/schema/builtin-types.js';
import type { Type } from '../../../structured-merge-diff/schema/schema.js';
import type { ResourceType, ResourceVersion, StoredAs } from '../../rest/interfaces.js';

export type StoredForm = Pick<StoredAs, 'toStorage' | 'fromStorage'>;

/** Returns the conversion between a version and its stored form; undefined if objects are stored unchanged. */
export function storedForm(type: ResourceType, version: ResourceVersion): StoredForm | undefined {
  if (type.storedAs !== undefined || version.name === type.storageVersion) return type.storedAs;
  const { group } = type;
  const as = (name: string) => (object: KubeObject) =>
    withApiVersion(object, formatGroupVersion({ group, version: name }));
  return { toStorage: as(type.storageVersion), fromStorage: as(version.name) };
}

/** Returns the object in another version of its type; only apiVersion differs. */
export const withApiVersion = (object: KubeObject, apiVersion: string): KubeObject =>
  object.apiVersion === apiVersion ? object : { ...object, apiVersion };

export function mergeTypeOf(type: ResourceType, wanted: string, mergeTypes: BuiltinTypes): Type | undefined {
  const { group, kind } = type;
  const version = type.versions.find(({ name }) => formatGroupVersion({ group, version: name }) === wanted);
  return version && mergeTypes.typeOf({ group, version: version.name, kind });
}

export const versionConverter = (type: ResourceType): VersionConverter => ({
  convert: (object, apiVersion) => {
    const known = type.versions.some(({ name }) => formatGroupVersion({ ...type, version: name }) === apiVersion);
    if (!known) throw new MissingVersionError(apiVersion);
    return withApiVersion(object, apiVersion);
  },
});
