/** By object: whether it is stored with what it holds unseen. */
const holders = new WeakMap<object, boolean>();

/**
 * Notes that an object was given members that nobody sees when it is read again, as empty lists in metadata, or nulls. Such an
 * object is not the one that was there. kube-apiserver stores most of them, and then finds something to write in the next request
 * that changes nothing; here only the fact is stored.
 */
export function noteUnseen(object: object, isStored: boolean): void {
  holders.set(object, isStored || holders.get(object) === true);
}

export const holdsUnseen = (object: object): boolean => holders.has(object);

export const storesUnseen = (object: object): boolean => holders.get(object) === true;
