/** Selects the objects of a list or watch, in addition to its key prefix. Compiled once for each request. */
export interface SelectionPredicate {
  /** True if everything matches; then nothing is evaluated. */
  readonly everything: boolean;
  /** `labels` may be undefined if the object has none; `fields` holds the type's selectable fields. */
  matches(labels: Readonly<Record<string, string>> | undefined, fields: Readonly<Record<string, string>>): boolean;
  /** The name that a `metadata.name=x` requirement selects, so that indexes can be used. */
  readonly name?: string | undefined;
  /** The namespace that a `metadata.namespace=x` requirement selects. */
  readonly namespace?: string | undefined;
  /** Returns the value that a requirement `field=x` selects; undefined if there is none. Absent if no field is selected. */
  readonly field?: ((name: string) => string | undefined) | undefined;
  /** A label value that every selected object has, so that indexes can be used. */
  readonly label?: { readonly key: string; readonly value: string } | undefined;
  /** Equal ids mean equal predicates, which are then evaluated once for all watchers that share them. */
  readonly id?: string | undefined;
  /** The selector of a shard that the objects are in, in its usual form. */
  readonly shard?: string | undefined;
}

/** The name under which attributes have an object's uid, while objects can be sharded by it. Field selectors cannot name it. */
export const SHARD_UID = 'object.metadata.uid';

export const EVERYTHING: SelectionPredicate = { everything: true, matches: () => true };
