import type { Backend } from './interfaces.js';

/** The optional members of a backend. */
type OptionalMembers = { [K in keyof Backend as undefined extends Backend[K] ? K : never]: Backend[K] };

/** The compiler checks that none is missing: a member that a wrapper does not pass on would be lost to everything above it. */
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

/** Returns the optional members that a backend has, for a wrapper of it. */
export function optionalMembers(backend: Backend): OptionalMembers {
  const members = Object.keys(NAMES).flatMap((name) => {
    const member: unknown = Reflect.get(backend, name);
    return typeof member === 'function' ? [[name, member.bind(backend) as unknown]] : [];
  });
  return Object.fromEntries(members) as OptionalMembers;
}
