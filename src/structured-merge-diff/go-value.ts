/** A value of a Go type that JSON does not have, as printed by Go's %T, %v and %#v. It matches no type of a schema. */
export class GoValue {
  readonly [part: string]: string;
  constructor(
    readonly type: string,
    readonly plain: string,
    readonly syntax: string,
  ) {}
}
