import { formatGroupVersion } from '../../../apimachinery/meta/meta.js';
import { CURRENT_MINOR } from '../../../util/effective-version.js';
import type { ApiLifecycle, ResourceType, ResourceVersion } from '../../rest/interfaces.js';

const release = (minor: number): string => `1.${String(minor)}`;

/** Reports whether a version introduced later is served anyway. `present` are the versions that the release has. */
type IsForwardCompatible = (version: string, present: readonly string[]) => boolean;

const never: IsForwardCompatible = () => false;

/**
 * Returns a built-in type as a release of Kubernetes serves it, without versions that it does not have yet or no longer has.
 * Deprecations are those of the current release, which emulates it.
 */
export function typeAt(type: ResourceType, minor: number, isForwardCompatible = never): ResourceType {
  if (type.versions.every(({ lifecycle }) => lifecycle === undefined)) return type;
  const served = type.versions.filter((version) => version.served);
  const present = served.filter(({ lifecycle }) => isIn(lifecycle, minor)).map(({ name }) => name);
  const early = served.filter(({ name, lifecycle }) => isNew(lifecycle, minor) && isForwardCompatible(name, present));
  const all = new Set([...present, ...early.map(({ name }) => name)]);
  return { ...type, versions: type.versions.map((version) => versionAt(type, version, all.has(version.name))) };
}

const isNew = ({ introduced = 0 }: ApiLifecycle = {}, minor: number): boolean => introduced > minor;
const isIn = (lifecycle: ApiLifecycle = {}, minor: number): boolean =>
  !isNew(lifecycle, minor) && minor < (lifecycle.removed ?? Infinity);

function versionAt(type: ResourceType, version: ResourceVersion, served: boolean): ResourceVersion {
  const { lifecycle } = version;
  if (lifecycle === undefined) return version;
  const { deprecated = Infinity, removed = Infinity } = lifecycle;
  const shown = { ...version, served };
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
