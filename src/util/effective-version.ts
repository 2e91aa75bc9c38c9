import { aggregateMessages } from './error-message.js';

/** The minor version of Kubernetes 1.x whose behavior is implemented. */
export const CURRENT_MINOR = 37;
/** The oldest version that can be emulated. */
const FLOOR_MINOR = 34;
const COMPONENT = 'kube';

interface Version {
  readonly major: number;
  readonly minor: number;
  readonly patch: number;
  /** The version as it is printed: only the numbers, without a leading v or a suffix. */
  readonly text: string;
}

const at = (minor: number): Version => ({ major: 1, minor, patch: 0, text: `1.${minor}` });
const order = (a: Version, b: Version): number => a.major - b.major || a.minor - b.minor;

function parseVersion(text: string): Version {
  const numbers = /^\s*v?(\d+(?:\.\d+)*)/.exec(text)?.[1];
  if (numbers === undefined) throw new Error(`could not parse ${JSON.stringify(text)} as version`);
  const parts = numbers.split('.');
  const [major = '', minor, patch] = parts;
  if (minor === undefined) throw new Error(`illegal version string ${JSON.stringify(text)}`);
  if (major !== '0' && major.startsWith('0')) {
    throw new Error(`illegal zero-prefixed version component ${JSON.stringify(major)} in ${JSON.stringify(text)}`);
  }
  const values = parts.map(Number);
  return { major: Number(major), minor: Number(minor), patch: Number(patch ?? 0), text: values.join('.') };
}

/** Returns the version that the flag sets for this component, or undefined. */
function versionOf(values: readonly string[]): Version | undefined {
  const found = new Map<string, Version>();
  for (const value of values) {
    const equals = value.indexOf('=');
    const component = equals < 0 ? COMPONENT : value.slice(0, equals).trim();
    const version = parseVersion(equals < 0 ? value : value.slice(equals + 1).trim());
    if (version.patch !== 0) throw new Error(`patch version not allowed, got: ${component}=${version.text}`);
    const known = found.get(component);
    if (known !== undefined) {
      throw new Error(`duplicate version flag, ${component}=${known.text} and ${component}=${version.text}`);
    }
    found.set(component, version);
  }
  for (const component of found.keys()) {
    if (component !== COMPONENT) throw new Error(`component not registered: ${component}`);
  }
  return found.get(COMPONENT);
}

/** The effective version of a process, set once at startup. */
export class EffectiveVersion {
  private emulated = CURRENT_MINOR;
  private compatible = CURRENT_MINOR - 1;

  /** The emulated minor version of Kubernetes 1.x. Its features are served. */
  get emulation(): number {
    return this.emulated;
  }

  /** The oldest minor version that a cluster may be downgraded to. Newly stored objects must be usable there. */
  get minCompatibility(): number {
    return this.compatible;
  }

  /**
   * Applies the values of `--emulated-version` and `--min-compatibility-version`. Throws an Error with kube-apiserver's
   * message if a value is invalid; in that case nothing is changed.
   */
  set(emulatedValues: readonly string[], compatibleValues: readonly string[]): void {
    const emulated = versionOf(emulatedValues) ?? at(CURRENT_MINOR);
    const [floor, current] = [at(FLOOR_MINOR), at(CURRENT_MINOR)];
    const before = { ...emulated, minor: emulated.minor - 1, text: `${emulated.major}.${emulated.minor - 1}` };
    const compatible = versionOf(compatibleValues) ?? (order(before, floor) < 0 ? floor : before);
    const errors: string[] = [];
    if (order(emulated, current) > 0 || order(emulated, floor) < 0) {
      errors.push(`emulation version ${emulated.text} is not between [${floor.text}, ${current.text}.0]`);
    }
    if (order(compatible, emulated) > 0 || order(compatible, floor) < 0) {
      errors.push(
        `minCompatibilityVersion version ${compatible.text} is not between [${floor.text}, ${emulated.text}]`,
      );
    }
    if (errors.length > 0) throw new Error(aggregateMessages(errors));
    this.emulated = emulated.minor;
    this.compatible = compatible.minor;
  }
}

export const effectiveVersion = new EffectiveVersion();
