import {
  HEALTHY,
  type Backend,
  type Capabilities,
  type Health,
  type Lifecycle,
  type ProjectionLag,
  type StoreHealth,
} from './interfaces.js';
import { layered } from './layered.js';
import type { KeptHistory } from './kept/interfaces.js';
import { routedKept } from './routed-kept.js';

/** The logs of a store, each with its own backend. */
export interface LogSet {
  /** The log of all types that have no other log. */
  readonly main: Backend;
  readonly others: ReadonlyMap<string, Backend>;
  /** The types whose log is not the main one, with the name of their log. */
  readonly overrides: ReadonlyMap<string, string>;
}

/** Returns the backends of all logs, the main one first. */
export const backendsOf = ({ main, others }: LogSet): readonly Backend[] => [main, ...others.values()];

/** Returns the logs with each backend wrapped. */
export const wrapLogs = ({ main, others, overrides }: LogSet, wrap: (backend: Backend) => Backend): LogSet => ({
  main: wrap(main),
  others: new Map([...others].map(([log, backend]) => [log, wrap(backend)])),
  overrides,
});

/** Returns the backend that orders a type's writes. */
export function backendOf(logs: LogSet, resource: string): Backend {
  return logs.others.get(logs.overrides.get(resource) ?? '') ?? logs.main;
}

/** Reports whether the writes of a type are ordered by the main log. */
export const isOnMainLog = ({ routing }: Pick<Backend, 'routing'>, resource: string): boolean =>
  routing === undefined || routing.logOf(resource) === '';

/**
 * Returns a backend that passes the calls for a type to its log. Calls that concern no type (revisions, events, compaction, copies of other
 * stores, presence) go to the main log.
 */
export function routedBackend(logs: LogSet): Backend {
  return layered(logs.main, {
    ...lifecycleOf(backendsOf(logs)),
    ...capabilitiesOf(logs),
    get: (resource, key) => backendOf(logs, resource).get(resource, key),
    list: (resource, options) => backendOf(logs, resource).list(resource, options),
    write: (request) => backendOf(logs, request.resource).write(request),
    health: healthOf(backendsOf(logs).map(({ health }) => health)),
  });
}

const lifecycleOf = (backends: readonly Backend[]): Lifecycle => ({
  /** Opens the main log first: it decides whether the others may be used. */
  open: async () => {
    const opened: Backend[] = [];
    try {
      for (const backend of backends) {
        await backend.open();
        opened.push(backend);
      }
    } catch (error) {
      await Promise.allSettled(opened.map((backend) => backend.close()));
      throw error;
    }
  },
  close: async () => {
    await Promise.all(backends.map((backend) => backend.close()));
  },
});

/** The capabilities that concern types: a log set has one if one of its logs has it. */
function capabilitiesOf(
  logs: LogSet,
): Pick<Capabilities, 'projection' | 'localStates' | 'indexes' | 'knownRevisions' | 'routing' | 'kept'> {
  const all = backendsOf(logs);
  const some = <T>(has: keyof Capabilities, capability: T): T | undefined =>
    all.some((backend) => backend[has] !== undefined) ? capability : undefined;
  return {
    projection: some('projection', { lag: () => totalLag(all) }),
    localStates: some('localStates', { of: (resource) => backendOf(logs, resource).localStates?.of(resource) }),
    indexes: some('indexes', {
      keep: (resource, fields) => backendOf(logs, resource).indexes?.keep(resource, fields),
    }),
    knownRevisions: some('knownRevisions', {
      consult: (known) => {
        for (const { knownRevisions } of all) knownRevisions?.consult(known);
      },
    }),
    routing: { logOf: (resource) => logs.overrides.get(resource) ?? '' },
    kept: all.every(({ kept }) => kept !== undefined)
      ? routedKept(all, (resource) => backendOf(logs, resource).kept as KeptHistory)
      : undefined,
  };
}

/** Returns the longest delay of any projection and the sum of the objects that wait; undefined if there is none. */
export function totalLag(backends: readonly Backend[]): ProjectionLag | undefined {
  const lags = backends.flatMap(({ projection }) => projection?.lag() ?? []);
  if (lags.length === 0) return undefined;
  return {
    seconds: Math.max(...lags.map(({ seconds }) => seconds)),
    objects: lags.reduce((sum, { objects }) => sum + objects, 0),
  };
}

function healthOf(all: readonly StoreHealth[]): StoreHealth {
  const following = all.flatMap((health) => health.following ?? []);
  return {
    ping: async () => {
      await Promise.all(all.map((health) => health.ping()));
    },
    writing: () => worst(all.map((health) => health.writing())),
    same: () => worst(all.map((health) => health.same())),
    following: following.length === 0 ? undefined : () => worst(following.map((state) => state())),
  };
}

/** Returns the first unhealthy state, or a healthy one if there is none. */
const worst = (states: readonly Health[]): Health => states.find(({ ok }) => !ok) ?? HEALTHY;
