import { formatGroupVersion } from '../../../apimachinery/meta/meta.js';
import { CURRENT_MINOR } from '../../../util/effective-version.js';
import type { ApiLifecycle, ResourceType, ResourceVersion } from '../../rest/interfaces.js';

const release = (minor: number): string => `1.${String(minor)}`;

/**
 * A built-in type as a release of Kubernetes serves it: without versions that it does not have yet or any more. Deprecations are those of
 * the release that emulates it.
 */
export function typeAt(type: ResourceType, minor: number): ResourceType {
  if (type.versions.every(({ lifecycle }) => lifecycle === undefined)) return type;
  return { ...type, versions: type.versions.map((version) => versionAt(type, version, minor)) };
}

function versionAt(type: ResourceType, version: ResourceVersion, minor: number): ResourceVersion {
  const { lifecycle } = version;
  if (lifecycle === undefined) return version;
  const { introduced = 0, deprecated = Infinity, removed = Infinity } = lifecycle;
  const shown = { ...version, served: version.served && introduced <= minor && minor < removed };
  if (deprecated > CURRENT_MINOR) return shown;
  return {
    ...shown,
    deprecated: true,
    deprecationWarning: warningOf(type, version, lifecycle),
    removedRelease: removed === Infinity ? undefined : release(removed),
  };
}

function warningOf({ group, kind }: ResourceType, { name }: ResourceVersion, lifecycle: ApiLifecycle): string {
  const { deprecated = 0, removed, replacement } = lifecycle;
  const gone = removed === undefined ? '' : `, unavailable in v${release(removed)}+`;
  const instead = replacement === undefined ? '' : `; use ${replacement}`;
  return `${formatGroupVersion({ group, version: name })} ${kind} is deprecated in v${release(deprecated)}+${gone}${instead}`;
}
