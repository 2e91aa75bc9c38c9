import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { CURRENT_MINOR, effectiveVersion } from '../../../util/effective-version.js';

/** The Kubernetes release whose behavior Annex serves. kubectl and other clients compare their version with it. */
export const KUBERNETES_VERSION = 'v1.37.2';

/** Returns Annex's own version, from package.json in the folder above the program. */
export function annexVersion(root: string): string {
  const parsed: unknown = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
  if (typeof parsed !== 'object' || parsed === null || !('version' in parsed) || typeof parsed.version !== 'string') {
    throw new Error('package.json has no version');
  }
  return parsed.version;
}

/** Returns the platform as Go names it, for example linux/amd64. */
export const platform = (): string => `${process.platform}/${process.arch === 'x64' ? 'amd64' : process.arch}`;

/** Returns the body of `/version`. */
export function versionInfo(version: string): Record<string, string> {
  return {
    major: '1',
    minor: String(CURRENT_MINOR),
    emulationMajor: '1',
    emulationMinor: String(effectiveVersion.emulation),
    minCompatibilityMajor: '1',
    minCompatibilityMinor: String(effectiveVersion.minCompatibility),
    gitVersion: `${KUBERNETES_VERSION}+annex-${version}`,
    gitCommit: '',
    gitTreeState: '',
    buildDate: '1970-01-01T00:00:00Z',
    goVersion: process.version,
    compiler: 'v8',
    platform: platform(),
  };
}
