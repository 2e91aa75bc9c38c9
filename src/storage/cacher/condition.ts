import type { Condition, ObjectPredicate } from './interfaces.js';

/** The maximum length of an id in characters; longer ones are not kept anywhere. */
const LONGEST_ID = 2048;

/** Adds a condition to a predicate: the only place where lists and watches get one, whatever reads for them. */
export function withCondition(selectors: ObjectPredicate, condition: Condition): ObjectPredicate {
  const { everything, name, namespace, field, label, shard } = selectors;
  return {
    everything: false,
    matches: (labels, fields, object) =>
      !object.undecodable &&
      (everything || selectors.matches(labels, fields, object)) &&
      condition.matches(object) === true,
    condition: { selectors, of: condition },
    name,
    namespace,
    field,
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
