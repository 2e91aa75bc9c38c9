import type {
  Backend,
  EventStream,
  ListOptions,
  Revision,
  StoredList,
  StoredObject,
  WriteRequest,
  WriteResult,
} from './interfaces.js';

/** The logs of a store, each with a backend of its own. */
export interface LogSet {
  /** Orders all types that have no other log. */
  readonly main: Backend;
  readonly others: ReadonlyMap<string, Backend>;
  /** The types with logs other than the main one. */
  readonly overrides: ReadonlyMap<string, string>;
}

/** The backend that orders a type's writes. */
export function backendOf(logs: LogSet, resource: string): Backend {
  return logs.others.get(logs.overrides.get(resource) ?? '') ?? logs.main;
}

interface Health {
  readonly ok: boolean;
  readonly reason: string;
}

/** The first that is not well. */
function worst(states: readonly (Health | undefined)[]): Health {
  return states.find((state) => state?.ok === false) ?? { ok: true, reason: '' };
}

/** Each type's calls go to its log. What concerns no type (revisions, events, compaction) is the main log's. */
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

  /** The main log first: it knows whether the others may be used. */
  async open(): Promise<void> {
    const opened: Backend[] = [];
    try {
      for (const backend of this.all()) {
        await backend.open();
        opened.push(backend);
      }
    } catch (error) {
      await Promise.allSettled(opened.map((backend) => backend.close()));
      throw error;
    }
  }

  async close(): Promise<void> {
    await Promise.all(this.all().map((backend) => backend.close()));
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
    await Promise.all(this.all().map((backend) => backend.ping()));
  }

  index(resource: string, fields: readonly string[]): void {
    backendOf(this.logs, resource).index?.(resource, fields);
  }

  following(): Health {
    return worst(this.all().map((backend) => backend.following?.()));
  }

  writing(): Health {
    return worst(this.all().map((backend) => backend.writing?.()));
  }

  corrupt(resource: string, key: string, bytes: Uint8Array): Promise<void> {
    return backendOf(this.logs, resource).corrupt(resource, key, bytes);
  }

  private all(): Backend[] {
    return [this.logs.main, ...this.logs.others.values()];
  }
}
