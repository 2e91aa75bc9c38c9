export interface Value {
  readonly op: number;
  readonly uid: string;
  readonly revision: number;
}

interface Change {
  readonly revision: number;
  readonly key: string;
  readonly value: Value | undefined;
}

/** The objects of one side, and their changes. */
export class Side {
  readonly objects = new Map<string, Value>();
  readonly changes: Change[] = [];

  constructor(public revision: number) {}

  write(key: string, next: { readonly op: number; readonly uid: string } | undefined): number {
    const revision = ++this.revision;
    const value = next && { op: next.op, uid: next.uid, revision };
    if (value === undefined) this.objects.delete(key);
    else this.objects.set(key, value);
    this.changes.push({ revision, key, value });
    return revision;
  }
}
