import {
  HEALTHY,
  type Backend,
  type EventStream,
  type Health,
  type ListOptions,
  type Revision,
  type StoredList,
  type StoredObject,
  type WriteRequest,
  type WriteResult,
} from './interfaces.js';

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

/** Returns the first unhealthy state, or a healthy one if there is none. */
function worst(states: readonly (Health | undefined)[]): Health {
  return states.find((state) => state?.ok === false) ?? HEALTHY;
}

/** Routes the calls for a type to its log. Calls that concern no type (revisions, events, compaction) go to the main log. */
export class RoutedBackend implements Backend {
  readonly staging?: NonNullable<Backend['staging']>;
  readonly presence?: NonNullable<Backend['presence']>;
  readonly raise?: NonNullable<Backend['raise']>;

  constructor(private readonly logs: LogSet) {
    const { main } = logs;
    if (main.staging !== undefined) this.staging = main.staging.bind(main);
    if (main.presence !== undefined) this.presence = main.presence.bind(main);
    if (main.raise !== undefined) this.raise = main.raise.bind(main);
  }

  /** Opens the main log first: it decides whether the others may be used. */
  async open(): Promise<void> {
    const opened: Backend[] = [];
    try {
      for (const backend of backendsOf(this.logs)) {
        await backend.open();
        opened.push(backend);
      }
    } catch (error) {
      await Promise.allSettled(opened.map((backend) => backend.close()));
      throw error;
    }
  }

  async close(): Promise<void> {
    await Promise.all(backendsOf(this.logs).map((backend) => backend.close()));
  }

  logOf(resource: string): string {
    return this.logs.overrides.get(resource) ?? '';
  }

  write(request: WriteRequest): Promise<WriteResult> {
    return backendOf(this.logs, request.resource).write(request);
  }

  get(resource: string, key: string): Promise<StoredObject | undefined> {
    return backendOf(this.logs, resource).get(resource, key);
  }

  list(resource: string, options: ListOptions): Promise<StoredList> {
    return backendOf(this.logs, resource).list(resource, options);
  }

  currentRevision(): Promise<Revision> {
    return this.logs.main.currentRevision();
  }

  compactedRevision(): Revision {
    return this.logs.main.compactedRevision();
  }

  events(after: Revision, signal: AbortSignal): EventStream {
    return this.logs.main.events(after, signal);
  }

  compact(revision: Revision): Promise<void> {
    return this.logs.main.compact(revision);
  }

  async ping(): Promise<void> {
    await Promise.all(backendsOf(this.logs).map((backend) => backend.ping()));
  }

  index(resource: string, fields: readonly string[]): void {
    backendOf(this.logs, resource).index?.(resource, fields);
  }

  following(): Health {
    return worst(backendsOf(this.logs).map((backend) => backend.following?.()));
  }

  writing(): Health {
    return worst(backendsOf(this.logs).map((backend) => backend.writing?.()));
  }

  corrupt(resource: string, key: string, bytes: Uint8Array): Promise<void> {
    return backendOf(this.logs, resource).corrupt(resource, key, bytes);
  }
}
