/** A type of Kubernetes' Go API as `data/types/types.json` describes it: JSON names, pointers, and what is omitted when empty. */
export interface GoType {
  readonly k: string;
  readonly s: string;
  readonly n?: string;
  /** The index of the element type of a pointer, slice, or map. */
  readonly e?: number;
  readonly f?: readonly GoField[];
}

export interface GoField {
  readonly n: string;
  readonly t: number;
  /** `omitempty` */
  readonly o?: boolean;
}

export interface GoTypes {
  readonly types: readonly GoType[];
  /** The type index of each `group/version/Kind` (`/v1/Kind` or `v1/Kind` for the core group). */
  readonly kinds: Readonly<Record<string, number>>;
}
