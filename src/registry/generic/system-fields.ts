import { randomInt, randomUUID } from 'node:crypto';
import { formatTime, type KubeObject, type ObjectMeta, type OwnerReference } from '../../apimachinery/meta/meta.js';
import { canonicalJson, FACTS } from '../../apimachinery/json/json.js';

/** Letters and digits that form no words (apiserver, storage/names). */
const ALPHABET = 'bcdfghjklmnpqrstvwxz2456789';
const RANDOM_LENGTH = 5;
const MAX_GENERATED_NAME_LENGTH = 63;

/** Generates a name: appends five random characters to the prefix, which is cut so that the name has at most 63. */
export function generateName(prefix: string): string {
  let name = prefix.slice(0, MAX_GENERATED_NAME_LENGTH - RANDOM_LENGTH);
  for (let i = 0; i < RANDOM_LENGTH; i++) name += ALPHABET.charAt(randomInt(ALPHABET.length));
  return name;
}

/** Clears the fields that only the server sets, before a create. */
export function wipeSystemFields(meta: ObjectMeta): void {
  delete meta.uid;
  delete meta.creationTimestamp;
  delete meta.deletionTimestamp;
  delete meta.deletionGracePeriodSeconds;
  delete meta.selfLink;
  wipeUnreadable(meta);
}

const WIPED = new Set(['uid', 'creationTimestamp', 'deletionTimestamp', 'deletionGracePeriodSeconds', 'selfLink']);

/** Forgets values of those fields that were no metadata of their type. */
function wipeUnreadable(meta: ObjectMeta): void {
  const unreadable = meta[FACTS]?.unreadable;
  if (unreadable === undefined) return;
  const members = Object.fromEntries(Object.entries(unreadable.members).filter(([name]) => !WIPED.has(name)));
  const { unreadable: _, ...facts } = meta[FACTS] ?? {};
  meta[FACTS] = Object.keys(members).length === 0 ? facts : { ...facts, unreadable: { ...unreadable, members } };
}

export function fillSystemFields(meta: ObjectMeta, now: number): void {
  meta.creationTimestamp = formatTime(now);
  meta.uid = randomUUID();
}

const DUPLICATE_OWNERS = (when: string, uids: readonly string[]): string =>
  `.metadata.ownerReferences contains duplicate entries${when}; API server dedups owner references in 1.20+, and may reject such requests as early as 1.24; please fix your requests; duplicate UID(s) observed: ${uids.join(', ')}`;

/** Drops duplicate owner references, with a warning. */
export function dedupOwnerReferences(
  object: KubeObject,
  warn: (text: string) => void,
  { afterAdmission }: { readonly afterAdmission: boolean },
): void {
  const references = object.metadata.ownerReferences;
  if (!Array.isArray(references) || references.length < 2) return;
  const seen = new Set<string>();
  const kept: OwnerReference[] = [];
  const duplicates: string[] = [];
  for (const reference of references) {
    const text = canonicalJson(reference);
    if (seen.has(text)) duplicates.push(reference.uid ?? '');
    else kept.push(reference);
    seen.add(text);
  }
  if (duplicates.length === 0) return;
  warn(DUPLICATE_OWNERS(afterAdmission ? ' after mutating admission happens' : '', duplicates));
  object.metadata.ownerReferences = kept;
}
