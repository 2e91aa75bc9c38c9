import { isRegisteredGroup, isRegisteredVersion } from '../../../apimachinery/scheme/registered-kinds.js';
import { formatGroupVersion } from '../../../apimachinery/meta/meta.js';
import { compareVersions } from '../../../apimachinery/meta/version-order.js';
import { effectiveVersion } from '../../../util/effective-version.js';

/** The keys that stand for all group versions of a stage, in the order in which they apply. */
const STAGES: readonly (readonly [key: string, matches: RegExp])[] = [
  ['api/all', /^/],
  ['api/ga', /^v\d+$/],
  ['api/beta', /^v\d+beta\d+$/],
  ['api/alpha', /^v\d+alpha\d+$/],
];
const STAGE_KEYS = new Set(STAGES.map(([key]) => key));
const GA = /^v\d+$/;
const ALPHA = /^v\d+alpha\d+$/;
/** Annex's own kinds are served in every stage unless they are disabled. */
const OWN_GROUP = 'kubeannex.io';

const TRUE = new Set(['', '1', 't', 'T', 'TRUE', 'true', 'True']);
const FALSE = new Set(['0', 'f', 'F', 'FALSE', 'false', 'False']);

/** The versions introduced after the emulated release that are served anyway. */
interface ForwardCompatibility {
  /** Serves versions newer than a served one, for clients that know only the newer ones. */
  readonly emulation: boolean;
  /** Serves the versions that --runtime-config names. */
  readonly runtimeConfig: boolean;
}

const NEITHER: ForwardCompatibility = { emulation: false, runtimeConfig: false };

interface Place {
  readonly group: string;
  readonly version: string;
  readonly resource: string;
}

/** A version, or a resource of a version, named by a key of the flag. */
interface Preference {
  readonly groupVersion: string;
  /** Absent for the whole version. */
  readonly resource?: string;
  readonly enabled: boolean;
}

/**
 * The group versions and resources that `--runtime-config` enables (apiserver, resourceconfig.MergeAPIResourceConfigs). A
 * resource's own key takes precedence over its version's key, that over `api/<stage>`, and that over the default. By default,
 * built-in types are served only in GA versions and custom types in all versions. The stage keys do not apply to custom types.
 */
export class RuntimeConfig {
  private readonly stages = new Map<string, boolean>();
  private readonly versions = new Map<string, boolean>();
  private readonly resources = new Map<string, boolean>();

  /** Parses the pairs of the flag. Throws an Error with kube-apiserver's text for the first invalid pair. */
  constructor(
    pairs: readonly string[] = [],
    private readonly forward = NEITHER,
  ) {
    const values = new Map(pairs.filter((pair) => pair.trim() !== '').map(split));
    if (values.size === 1 && values.get('api/all') === 'false') {
      throw new Error('invalid runtime-config with only api/all=false');
    }
    const preferences = preferencesOf(values);
    for (const [key] of STAGES) {
      const value = values.get(key);
      if (value === undefined) continue;
      if (value !== 'true' && value !== 'false') throw new Error(`invalid value ${key}=${value}`);
      this.stages.set(key, value === 'true');
    }
    for (const { groupVersion, resource, enabled } of preferences) {
      if (resource === undefined) this.versions.set(groupVersion, enabled);
      else this.resources.set(`${groupVersion}/${resource}`, enabled);
    }
  }

  /** Reports whether a resource is served in a version. */
  serves(group: string, version: string, resource: string, custom: boolean): boolean {
    const groupVersion = formatGroupVersion({ group, version });
    return (
      this.resources.get(`${groupVersion}/${resource}`) ??
      this.versions.get(groupVersion) ??
      (custom ? true : this.byStage(group, version))
    );
  }

  /** Reports whether a version introduced after the emulated release is served. `present` are the versions that the release has. */
  servesForwardCompatible({ group, version, resource }: Place, present: readonly string[]): boolean {
    const groupVersion = formatGroupVersion({ group, version });
    const isNamed =
      this.resources.get(`${groupVersion}/${resource}`) === true || this.versions.get(groupVersion) === true;
    if (this.forward.runtimeConfig && isNamed) return true;
    const isBelow = (name: string): boolean => !ALPHA.test(name) && compareVersions(name, version) > 0;
    return this.forward.emulation && present.some((name) => isBelow(name) && this.serves(group, name, resource, false));
  }

  /** Throws an Error if a key enables a resource that the emulated release lacks. `introduced` is the minor version that introduced it. */
  checkNotEnabled({ group, version, resource }: Place, introduced: number | undefined): void {
    const groupVersion = formatGroupVersion({ group, version });
    if (this.resources.get(`${groupVersion}/${resource}`) !== true) return;
    const what = `cannot enable resource ${groupVersion}, Resource=${resource} in runtime-config because it is`;
    const { emulation } = effectiveVersion;
    if (introduced === undefined || introduced <= emulation) throw new Error(`${what} no longer served`);
    const hint = 'Consider setting --runtime-config-emulation-forward-compatible=true';
    throw new Error(
      `${what} introduced at 1.${String(introduced)} after the current version 1.${String(emulation)}. ${hint}`,
    );
  }

  private byStage(group: string, version: string): boolean {
    let enabled = GA.test(version) || group === OWN_GROUP;
    for (const [key, matches] of STAGES) if (matches.test(version)) enabled = this.stages.get(key) ?? enabled;
    return enabled;
  }
}

/** Splits a pair at the first `=`. A pair without a value means true. */
function split(pair: string): [key: string, value: string] {
  const at = pair.indexOf('=');
  return at < 0 ? [pair.trim(), ''] : [pair.slice(0, at).trim(), pair.slice(at + 1).trim()];
}

function preferencesOf(values: ReadonlyMap<string, string>): Preference[] {
  const preferences: Preference[] = [];
  const unknown = new Set<string>();
  for (const [key, value] of values) {
    if (STAGE_KEYS.has(key)) continue;
    const [group, version, resource, ...more] = key.split('/');
    if (group === undefined || !version || more.length > 0) {
      throw new Error(`runtime-config invalid key ${key}`);
    }
    const groupVersion = formatGroupVersion({ group, version });
    if (!isRegisteredGroup(group)) {
      // A definition may add a group with a dot later.
      if (!group.includes('.')) unknown.add(groupVersion);
    } else if (!isRegisteredVersion(group, version)) {
      throw new Error(`group version ${groupVersion} that has not been registered`);
    }
    if (resource !== undefined && resource !== resource.toLowerCase()) {
      const rule = 'group/version/resource and resource is always lowercase plural, not';
      throw new Error(`invalid key ${key}: ${rule} ${JSON.stringify(resource)}`);
    }
    preferences.push({ groupVersion, ...(resource !== undefined && { resource }), enabled: parseBool(key, value) });
  }
  if (unknown.size > 0) throw new Error(`unknown api groups ${[...unknown].sort().join(',')}`);
  return preferences;
}

function parseBool(key: string, value: string): boolean {
  if (TRUE.has(value)) return true;
  if (FALSE.has(value)) return false;
  throw new Error(
    `invalid value of ${key}: ${value}, err: strconv.ParseBool: parsing ${JSON.stringify(value)}: invalid syntax`,
  );
}
