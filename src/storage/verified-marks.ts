import { createHash } from 'node:crypto';
import { stringAt } from '../apimachinery/json/json.js';
import { decodeIfSound } from './detached-object.js';
import { encodeObject } from './encode.js';
import type { Backend, Revision, Staging, StoreBackend, StoredObject } from './interfaces.js';
import { layered } from './layered.js';

/** The type that holds the marks, which is not served. Its objects are named as the types they are about. */
export const MARKS = 'verifiedtypes.kubeannex.io';

/**
 * Marks in the store: every object of a type whose last write is at or below a revision is stored in the form in which it is shown. The form
 * is identified by a digest. A mark stays true whatever happens later: an object that is written again has a higher revision. So it is
 * neither kept up to date by writes nor removed when the definition changes; only a copy that is installed below the log ends it.
 */
export class VerifiedMarks {
  constructor(
    private readonly store: StoreBackend,
    /** The version of Annex: another one may show stored objects differently. */
    private readonly version: string,
  ) {}

  /** Returns the digest of whatever determines the form of stored objects. */
  digest(form: readonly unknown[]): string {
    return createHash('sha256')
      .update(JSON.stringify([this.version, ...form]))
      .digest('base64url');
  }

  /** Returns the revision up to which objects are in the form; undefined if there is no mark. */
  async upTo(resource: string, form: string): Promise<Revision | undefined> {
    return read(await this.store.get(MARKS, resource), form);
  }

  /** Records that the objects up to a revision are in the form. Does nothing if that is known. */
  async record(resource: string, form: string, revision: Revision): Promise<void> {
    const current = await this.store.get(MARKS, resource);
    if ((read(current, form) ?? -1) >= revision) return;
    const mark = { apiVersion: 'kubeannex.io/v1', kind: 'VerifiedType', metadata: { name: resource } };
    const value = encodeObject({ ...mark, form, upTo: String(revision) });
    // After a conflict, the mark of another replica is as good.
    await this.store.write({ resource: MARKS, key: resource, expected: current?.revision ?? 0, value });
  }

  /** Removes the mark of a type; durable when it resolves. */
  async forget(resource: string): Promise<void> {
    for (let current = await this.store.get(MARKS, resource); current !== undefined;) {
      const expected = current.revision;
      const result = await this.store.write({ resource: MARKS, key: resource, expected, value: undefined });
      if (result.outcome === 'committed') return;
      current = result.current;
    }
  }
}

function read(stored: StoredObject | undefined, form: string): Revision | undefined {
  const mark = stored === undefined ? undefined : decodeIfSound(stored);
  if (mark === undefined || stringAt(mark, 'form') !== form) return undefined;
  const revision = Number(stringAt(mark, 'upTo'));
  return Number.isSafeInteger(revision) ? revision : undefined;
}

/**
 * Returns a backend that forgets the mark of a type before a copy becomes the type's objects: they have the revisions of another store,
 * which may be below the mark.
 */
export function forgettingMarks(backend: Backend, marks: VerifiedMarks): Backend {
  const { staging } = backend;
  if (staging === undefined) return backend;
  return layered(backend, { staging: { copy: (name) => forgetting(staging.copy(name), marks) } });
}

const forgetting = (copy: Staging, marks: VerifiedMarks): Staging => ({
  revisions: (resource) => copy.revisions(resource),
  states: (resource, keys) => copy.states(resource, keys),
  put: (resource, objects) => copy.put(resource, objects),
  remove: (resource, keys) => copy.remove(resource, keys),
  drop: () => copy.drop(),
  install: async (resource) => {
    await marks.forget(resource);
    await copy.install(resource);
  },
  discard: (resource) => copy.discard(resource),
});
