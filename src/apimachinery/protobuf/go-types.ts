/** A type of Kubernetes' Go API as `data/types/types.json` describes it: names in JSON, pointers, what is left out when empty. */
export interface GoType {
  readonly k: string;
  readonly s: string;
  readonly n?: string;
  /** Element of a pointer, slice or map: an index. */
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
  /** `group/version/Kind` (`/v1/Kind` or `v1/Kind` for the core group) to an index. */
  readonly kinds: Readonly<Record<string, number>>;
}
