import type { CachedObject, ObjectPredicate } from './interfaces.js';

/** A condition on the objects of a list or watch beyond its selectors. */
export interface Condition {
  /**
   * Reports whether the request gets an object, which can be decoded and which its selectors match. Must depend on the object alone
   * and must not throw: a watch also asks about objects that have been changed since.
   */
  matches(object: CachedObject): boolean;
  /** Equal ids mean equal conditions, whose results are then shared; undefined if the condition is not worth it. */
  readonly id: string | undefined;
}

/** The maximum length of an id in characters; longer ones are not kept anywhere. */
const LONGEST_ID = 2048;

/** Adds a condition to a predicate: the only place where lists and watches get one, whatever reads for them. */
export function withCondition(selectors: ObjectPredicate, condition: Condition): ObjectPredicate {
  const { everything, name, namespace, label, shard } = selectors;
  return {
    everything: false,
    matches: (labels, fields, object) =>
      !object.undecodable && (everything || selectors.matches(labels, fields, object)) && condition.matches(object),
    name,
    namespace,
    label,
    shard,
    id: idOf(everything ? '' : selectors.id, condition.id),
  };
}

function idOf(selectors: string | undefined, condition: string | undefined): string | undefined {
  if (selectors === undefined || condition === undefined) return undefined;
  const id = JSON.stringify([selectors, condition]);
  return id.length > LONGEST_ID ? undefined : id;
}
