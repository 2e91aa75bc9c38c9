import type { KeptPolicy, PolicyState } from './interfaces.js';

const HOUR = 3_600_000;
/** How long a policy that was shortened still holds. */
export const SHORTENING_MILLIS = 24 * HOUR;
const KEEP_DELETED_MILLIS = 168 * HOUR;

/** What is kept of a type without a policy: deleted objects. */
export const KEEP_DELETED: KeptPolicy = {
  keepDeletedFor: KEEP_DELETED_MILLIS,
  keepRevisionsFor: 0,
  maxRevisionsPerObject: 0,
  maxBytes: 0,
};
export const KEEP_NOTHING: KeptPolicy = { ...KEEP_DELETED, keepDeletedFor: 0 };

/** Secrets, and what is written so often that nobody would look for it. */
const NOT_BY_DEFAULT = new Set(['secrets', 'events', 'events.events.k8s.io', 'leases.coordination.k8s.io']);
/** Types in which a server keeps facts about the store itself, which are not served. */
const INTERNAL = /^(?:verifiedtypes|logs\..*|.*\.internal)\.kubeannex\.io$/;

export const isInternalType = (resource: string): boolean => INTERNAL.test(resource);

/** Returns what is kept of a type while nobody has set a policy. Types that are encrypted at rest are kept only if somebody asks for it. */
export const defaultPolicy = (resource: string, { encrypted = false } = {}): KeptPolicy =>
  encrypted || NOT_BY_DEFAULT.has(resource) || isInternalType(resource) ? KEEP_NOTHING : KEEP_DELETED;

export const samePolicy = (a: KeptPolicy, b: KeptPolicy): boolean =>
  a.keepDeletedFor === b.keepDeletedFor &&
  a.keepRevisionsFor === b.keepRevisionsFor &&
  a.maxRevisionsPerObject === b.maxRevisionsPerObject &&
  a.maxBytes === b.maxBytes;

/** Of two limits the one that keeps more; 0 is no limit. */
const higher = (a: number, b: number): number => (a === 0 || b === 0 ? 0 : Math.max(a, b));

/** Returns the policy that keeps everything that one of two keeps. */
export const longest = (a: KeptPolicy, b: KeptPolicy): KeptPolicy => ({
  keepDeletedFor: Math.max(a.keepDeletedFor, b.keepDeletedFor),
  keepRevisionsFor: Math.max(a.keepRevisionsFor, b.keepRevisionsFor),
  // The number of a policy that keeps no revisions means nothing.
  maxRevisionsPerObject:
    b.keepRevisionsFor === 0
      ? a.maxRevisionsPerObject
      : a.keepRevisionsFor === 0
        ? b.maxRevisionsPerObject
        : higher(a.maxRevisionsPerObject, b.maxRevisionsPerObject),
  maxBytes: higher(a.maxBytes, b.maxBytes),
});

/** Returns the policy by which states go at a time: the one that was set, and an earlier one as long as it holds. */
export const effectivePolicy = (
  { policy, earlier }: Pick<PolicyState, 'policy' | 'earlier'>,
  now: number,
): KeptPolicy => (earlier === undefined || now >= earlier.until ? policy : longest(policy, earlier.policy));

/**
 * Returns the policies after another one was set. What held until now holds for 24 h longer if the new one keeps less of anything; so does
 * an earlier policy that has not ended, because one end is enough to remember.
 */
export function changePolicy(state: PolicyState, policy: KeptPolicy, now: number, isDefault: boolean): PolicyState {
  const holds = effectivePolicy(state, now);
  const shortened = !samePolicy(longest(policy, holds), policy);
  if (!shortened) return { policy, isDefault, earlier: undefined };
  const began = samePolicy(state.policy, policy) ? state.earlier?.until : undefined;
  return { policy, isDefault, earlier: { policy: holds, until: began ?? now + SHORTENING_MILLIS } };
}

/** A state that has been superseded or is that of a deletion, as far as it matters for when it goes. */
interface AgingState {
  readonly key: string;
  readonly deletion: boolean;
  /** When the state was superseded, or the object deleted. */
  readonly at: number;
  readonly bytes: number;
}

/** Returns when a state is due by its age alone. */
export const dueAt = ({ deletion, at }: Pick<AgingState, 'deletion' | 'at'>, policy: KeptPolicy): number =>
  at + (deletion ? policy.keepDeletedFor : policy.keepRevisionsFor);

/**
 * Returns which states of a type are due, oldest first as given: those past their time; then, of each object, the superseded states beyond
 * the number; then, beyond the bytes, superseded states before deletions. `states` are all that are kept of the type.
 */
export function dueStates<T extends AgingState>(states: readonly T[], policy: KeptPolicy, now: number): T[] {
  const due = new Set(states.filter((state) => now >= dueAt(state, policy)));
  if (policy.maxRevisionsPerObject > 0) {
    const seen = new Map<string, number>();
    for (const state of states.toReversed()) {
      if (state.deletion || due.has(state)) continue;
      const count = (seen.get(state.key) ?? 0) + 1;
      seen.set(state.key, count);
      if (count > policy.maxRevisionsPerObject) due.add(state);
    }
  }
  if (policy.maxBytes > 0) {
    const left = states.filter((state) => !due.has(state));
    let bytes = left.reduce((sum, state) => sum + state.bytes, 0);
    for (const deletion of [false, true]) {
      for (const state of left) {
        if (bytes <= policy.maxBytes) break;
        if (state.deletion !== deletion) continue;
        due.add(state);
        bytes -= state.bytes;
      }
    }
  }
  return states.filter((state) => due.has(state));
}
