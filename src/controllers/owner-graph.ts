import type { OwnerReference } from '../apimachinery/meta.js';

/** Where an object is: the store's name of its type, and its key there. */
export interface ObjectPlace {
  readonly resource: string;
  readonly key: string;
}

/** An object that has owners. */
export interface Dependent extends ObjectPlace {
  readonly uid: string;
  readonly owners: readonly OwnerReference[];
}

const idOf = (place: ObjectPlace): string => `${place.resource}\0${place.key}`;

/** Who is owned by whom. Holds only objects that have owners; an owner is known by its uid alone. */
export class OwnerGraph {
  private readonly dependents = new Map<string, Dependent>();
  private readonly byOwner = new Map<string, Set<string>>();

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
      const uid = owner.uid ?? '';
      const set = this.byOwner.get(uid) ?? new Set<string>();
      this.byOwner.set(uid, set.add(id));
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

  /** The objects that name the uid as an owner. */
  dependentsOf(uid: string): Dependent[] {
    const found: Dependent[] = [];
    for (const id of this.byOwner.get(uid) ?? []) {
      const dependent = this.dependents.get(id);
      if (dependent !== undefined) found.push(dependent);
    }
    return found;
  }

  private unlink(id: string): void {
    for (const owner of this.dependents.get(id)?.owners ?? []) {
      const uid = owner.uid ?? '';
      const set = this.byOwner.get(uid);
      set?.delete(id);
      if (set?.size === 0) this.byOwner.delete(uid);
    }
  }
}
