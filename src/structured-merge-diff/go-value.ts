/** A value of a Go type that JSON does not have, as Go's %T, %v and %#v print it. It fits no type of a schema. */
export class GoValue {
  readonly [part: string]: string;
  constructor(
    readonly type: string,
    readonly plain: string,
    readonly syntax: string,
  ) {}
}
