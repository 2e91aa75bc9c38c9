/** Which objects a list or watch is about, beside its key prefix. Compiled once for each request. */
export interface SelectionPredicate {
  /** Whether everything matches; then nothing is evaluated. */
  readonly everything: boolean;
  /** `labels` may be undefined where there are none; `fields` holds the type's selectable fields. */
  matches(labels: Readonly<Record<string, string>> | undefined, fields: Readonly<Record<string, string>>): boolean;
  /** The name that a `metadata.name=x` requirement asks for, so that indexes can be used. */
  readonly name?: string | undefined;
  /** Likewise for `metadata.namespace=x`. */
  readonly namespace?: string | undefined;
  /** A label that everything selected has with this very value, likewise. */
  readonly label?: { readonly key: string; readonly value: string } | undefined;
  /** Equal ids mean equal predicates: then they are evaluated once for all watchers that share them. */
  readonly id?: string | undefined;
}

export const EVERYTHING: SelectionPredicate = { everything: true, matches: () => true };
