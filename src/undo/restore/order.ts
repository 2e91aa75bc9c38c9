/** An object of a restore, as far as the order of the writes depends on it. */
export interface OrderedObject {
  readonly uid: string;
  /** The uids of its owners. */
  readonly owners: readonly string[];
}

/**
 * Returns the objects in layers: those of a layer have no owners but in the layers before, or outside. `set`: the uids of all objects of the
 * restore. Objects that own each other in a circle come last.
 */
export function inLayers<T extends OrderedObject>(objects: readonly T[], set: ReadonlySet<string>): T[][] {
  const layers: T[][] = [];
  const waiting = new Set(objects.map(({ uid }) => uid));
  let left = objects;
  while (left.length > 0) {
    const ready = left.filter(({ uid, owners }) =>
      owners.every((owner) => owner === uid || !set.has(owner) || !waiting.has(owner)),
    );
    const layer = ready.length > 0 ? ready : left;
    for (const { uid } of layer) waiting.delete(uid);
    layers.push([...layer]);
    left = ready.length > 0 ? left.filter(({ uid }) => waiting.has(uid)) : [];
  }
  return layers;
}
