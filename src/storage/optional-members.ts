import type { Backend } from './interfaces.js';

/** What a backend may lack. */
type OptionalMembers = { [K in keyof Backend as undefined extends Backend[K] ? K : never]: Backend[K] };

/** By the compiler's check none is missing: what a wrapper does not pass on is lost to everybody above it. */
const NAMES: Readonly<Record<keyof OptionalMembers, true>> = {
  revisionNow: true,
  staging: true,
  presence: true,
  raise: true,
  trimmedAt: true,
  logOf: true,
  consult: true,
  projectionLag: true,
  atHand: true,
  index: true,
  following: true,
  writing: true,
};

/** The optional members that a backend has, for one that stands over it. */
export function optionalMembers(backend: Backend): OptionalMembers {
  const members = Object.keys(NAMES).flatMap((name) => {
    const member: unknown = Reflect.get(backend, name);
    return typeof member === 'function' ? [[name, member.bind(backend) as unknown]] : [];
  });
  return Object.fromEntries(members) as OptionalMembers;
}
