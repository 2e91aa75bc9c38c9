import { createHash } from 'node:crypto';
import type { GroupResource } from '../apimachinery/meta/meta.js';

/** The group and version of the kinds of undo. */
export const GROUP = 'kubeannex.io';
export const VERSION = 'v1alpha1';

/** The field manager of restores, which their revisions name. */
export const RESTORE_MANAGER = 'annex-restore';

/** Returns the type that the store knows by a name: `plural.group`, or the plural in the core group. */
export function typeOfName(resource: string): GroupResource {
  const dot = resource.indexOf('.');
  return dot < 0 ? { group: '', resource } : { group: resource.slice(dot + 1), resource: resource.slice(0, dot) };
}

export const nameOfType = ({ group, resource }: GroupResource): string =>
  group === '' ? resource : `${resource}.${group}`;

const DIGITS = 10;

/** Returns the name of the ObjectRevision about a write. Logs have revisions of their own, so the object is in it, too. */
export const revisionName = ({ resource, key, revision }: RevisionIdentity): string =>
  `${String(revision)}-${digest(resource, key).slice(0, DIGITS)}`;

interface RevisionIdentity {
  readonly resource: string;
  readonly key: string;
  readonly revision: number;
}

/** Returns the revision in a name; undefined if no ObjectRevision has such a name. */
export function revisionOfName(name: string): number | undefined {
  const [, digits] = /^([1-9]\d{0,15})-[0-9a-f]{10}$/.exec(name) ?? [];
  return digits === undefined ? undefined : Number(digits);
}

/** Returns the uid of the ObjectRevision about a write. */
export function revisionUid({ resource, key, revision }: RevisionIdentity): string {
  const hex = digest(resource, key, String(revision));
  const variant = ((parseInt(hex.charAt(16), 16) & 3) | 8).toString(16);
  return [
    hex.slice(0, 8),
    hex.slice(8, 12),
    `8${hex.slice(13, 16)}`,
    variant + hex.slice(17, 20),
    hex.slice(20, 32),
  ].join('-');
}

const digest = (...parts: readonly string[]): string => createHash('sha256').update(parts.join('\0')).digest('hex');
