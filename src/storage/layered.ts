import type { Backend } from './interfaces.js';

/**
 * Returns a backend that answers with the members of `above`, and with those of the backend below for the rest. Every member is named here,
 * so that the compiler reports one that a layer would lose.
 */
export const layered = (below: Backend, above: Partial<Backend>): Backend => ({ ...forwarding(below), ...above });

const forwarding = (below: Backend): Backend => ({
  open: () => below.open(),
  close: () => below.close(),
  get: (resource, key) => below.get(resource, key),
  list: (resource, options) => below.list(resource, options),
  write: (request) => below.write(request),
  currentRevision: () => below.currentRevision(),
  revisionNow: () => below.revisionNow(),
  compactedRevision: () => below.compactedRevision(),
  trimmedAt: () => below.trimmedAt(),
  events: (after, signal) => below.events(after, signal),
  compact: (revision) => below.compact(revision),
  raise: (above) => below.raise(above),
  health: below.health,
  staging: below.staging,
  presence: below.presence,
  projection: below.projection,
  localStates: below.localStates,
  indexes: below.indexes,
  knownRevisions: below.knownRevisions,
  routing: below.routing,
  kept: below.kept,
});
