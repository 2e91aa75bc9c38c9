import type { OwnerReference } from '../../apimachinery/meta/meta.js';
import { addTo, removeFrom } from '../../util/append.js';

/** The location of an object: the store's name of its type, and its key there. */
export interface ObjectPlace {
  readonly resource: string;
  readonly key: string;
}

/** An object that has owners. */
export interface Dependent extends ObjectPlace {
  readonly uid: string;
  readonly owners: readonly OwnerReference[];
  /** True if it is being deleted in the foreground: after its own dependents. */
  readonly deletingDependents: boolean;
}

const idOf = (place: ObjectPlace): string => `${place.resource}\0${place.key}`;

export const kindOf = ({ apiVersion = '', kind = '' }: OwnerReference): string => `${apiVersion}\0${kind}`;

/** The graph of owners and dependents. Holds only objects that have owners; an owner is known by its uid alone. */
export class OwnerGraph {
  private readonly dependents = new Map<string, Dependent>();
  private readonly byOwner = new Map<string, Set<string>>();
  private readonly byKind = new Map<string, Set<string>>();

  get size(): number {
    return this.dependents.size;
  }

  get(place: ObjectPlace): Dependent | undefined {
    return this.dependents.get(idOf(place));
  }

  set(dependent: Dependent): void {
    const id = idOf(dependent);
    this.unlink(id);
    this.dependents.set(id, dependent);
    for (const owner of dependent.owners) {
      addTo(this.byOwner, owner.uid ?? '', id);
      addTo(this.byKind, kindOf(owner), id);
    }
  }

  remove(place: ObjectPlace): void {
    const id = idOf(place);
    this.unlink(id);
    this.dependents.delete(id);
  }

  removeAll(resource: string): void {
    for (const dependent of this.dependents.values()) if (dependent.resource === resource) this.remove(dependent);
  }

  /** Returns the objects that name the UID as an owner. */
  dependentsOf(uid: string): Dependent[] {
    return this.read(this.byOwner.get(uid));
  }

  /** Returns the objects that name an owner of the kind, as formatted by `kindOf`. */
  dependentsOfKind(kind: string): Dependent[] {
    return this.read(this.byKind.get(kind));
  }

  private read(ids: Iterable<string> = []): Dependent[] {
    const found: Dependent[] = [];
    for (const id of ids) {
      const dependent = this.dependents.get(id);
      if (dependent !== undefined) found.push(dependent);
    }
    return found;
  }

  private unlink(id: string): void {
    for (const owner of this.dependents.get(id)?.owners ?? []) {
      removeFrom(this.byOwner, owner.uid ?? '', id);
      removeFrom(this.byKind, kindOf(owner), id);
    }
  }
}
