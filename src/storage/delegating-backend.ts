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

/** A backend on top of another one, which answers everything that subclasses do not override. It has the optional members of that one. */
export abstract class DelegatingBackend implements Backend {
  constructor(protected readonly inner: Backend) {
    for (const name of Object.keys(NAMES)) {
      const member: unknown = Reflect.get(inner, name);
      if (typeof member === 'function' && !(name in this))
        Object.assign(this, { [name]: member.bind(inner) as unknown });
    }
  }

  open(): Promise<void> {
    return this.inner.open();
  }

  close(): Promise<void> {
    return this.inner.close();
  }

  write(request: WriteRequest): Promise<WriteResult> {
    return this.inner.write(request);
  }

  get(resource: string, key: string): Promise<StoredObject | undefined> {
    return this.inner.get(resource, key);
  }

  list(resource: string, options: ListOptions): Promise<StoredList> {
    return this.inner.list(resource, options);
  }

  currentRevision(): Promise<Revision> {
    return this.inner.currentRevision();
  }

  compactedRevision(): Revision {
    return this.inner.compactedRevision();
  }

  events(after: Revision, signal: AbortSignal): EventStream {
    return this.inner.events(after, signal);
  }

  compact(revision: Revision): Promise<void> {
    return this.inner.compact(revision);
  }

  ping(): Promise<void> {
    return this.inner.ping();
  }

  corrupt(resource: string, key: string, bytes: Uint8Array): Promise<void> {
    return this.inner.corrupt(resource, key, bytes);
  }
}
