import type { OverloadDecl } from '../declarations.js';
import { DYN, isDyn, NULL, Type } from '../types.js';

/** The bindings of type parameters. Failed attempts are rolled back, so that an overload that did not match leaves no trace. */
export class Substitution {
  private readonly bindings = new Map<string, Type>();
  private readonly journal: { name: string; old: Type | undefined }[] = [];

  /** Runs an attempt, and rolls back its bindings if it returns false. */
  private attempt(run: () => boolean): boolean {
    const mark = this.journal.length;
    if (run()) return true;
    while (this.journal.length > mark) {
      const entry = this.journal.pop();
      if (entry === undefined) break;
      if (entry.old === undefined) this.bindings.delete(entry.name);
      else this.bindings.set(entry.name, entry.old);
    }
    return false;
  }

  private find(type: Type): Type | undefined {
    return type.kind === 'param' ? this.bindings.get(type.name) : undefined;
  }

  private bind(param: Type, to: Type): void {
    this.journal.push({ name: param.name, old: this.bindings.get(param.name) });
    this.bindings.set(param.name, to);
  }

  /** Replaces the type parameters of a type: those that are bound, and the others too if `whenUnbound` is given. */
  apply(type: Type, whenUnbound?: Type): Type {
    if (!type.open) return type;
    if (type.kind === 'param') {
      const bound = this.bindings.get(type.name);
      return bound === undefined ? (whenUnbound ?? type) : this.apply(bound, whenUnbound);
    }
    return new Type(
      type.kind,
      type.name,
      type.params.map((param) => this.apply(param, whenUnbound)),
    );
  }

  assignable(to: Type, from: Type): boolean {
    if (!to.open && !from.open) return this.check(to, from);
    return this.attempt(() => this.check(to, from));
  }

  assignableAll(to: readonly Type[], from: readonly Type[]): boolean {
    return this.attempt(() => this.checkAll(to, from));
  }

  private checkAll(to: readonly Type[], from: readonly Type[]): boolean {
    if (to.length !== from.length) return false;
    for (let i = 0; i < to.length; i++) {
      const [a, b] = [to[i], from[i]];
      if (a === undefined || b === undefined || !this.check(a, b)) return false;
    }
    return true;
  }

  private check(t1: Type, t2: Type): boolean {
    if (t2.kind === 'param') {
      const outcome = this.unify(t1, t2);
      if (outcome !== undefined) return outcome;
    }
    if (t1.kind === 'param') return this.unify(t2, t1) ?? false;
    if (isDyn(t1) || isDyn(t2) || t1.kind === 'error' || t2.kind === 'error') return true;
    if (t1.kind === 'null') return takesNull(t2);
    if (t2.kind === 'null') return takesNull(t1);
    switch (t1.kind) {
      case 'type':
        return t2.kind === 'type';
      case 'opaque':
      case 'list':
      case 'map':
        return t1.kind === t2.kind && t1.name === t2.name && this.checkAll(t1.params, t2.params);
      default:
        return t1.kind === t2.kind && t1.name === t2.name;
    }
  }

  /** Binds the parameter, or checks the type against its binding. Returns undefined if the parameter cannot be bound to the type. */
  private unify(type: Type, param: Type): boolean | undefined {
    if (type.equals(param)) return true;
    const bound = this.find(param);
    if (bound !== undefined) {
      if (type.equals(bound)) return true;
      if (!this.check(type, bound)) return false;
      const general = isLessSpecific(type, bound) ? type : bound;
      if (!this.occurs(param, general)) this.bind(param, general);
      return true;
    }
    if (this.occurs(param, type)) return undefined;
    this.bind(param, type);
    return true;
  }

  private occurs(param: Type, within: Type): boolean {
    if (param.equals(within)) return true;
    if (!within.open) return false;
    if (within.kind === 'param') {
      const bound = this.find(within);
      return bound !== undefined && this.occurs(param, bound);
    }
    return within.params.some((inner) => this.occurs(param, inner));
  }
}

function takesNull(type: Type): boolean {
  switch (type.kind) {
    case 'opaque':
    case 'struct':
    case 'any':
    case 'duration':
    case 'timestamp':
      return true;
    default:
      return type.kind === NULL.kind || type.nullable;
  }
}

/** Reports whether `a` equals `b` or is less specific. */
export function isLessSpecific(a: Type, b: Type): boolean {
  if (isDyn(a) || a.kind === 'param') return true;
  if (isDyn(b) || b.kind === 'param' || a.kind !== b.kind) return false;
  switch (a.kind) {
    case 'opaque':
    case 'list':
    case 'map':
      return (
        a.name === b.name &&
        a.params.length === b.params.length &&
        a.params.every((param, i) => isLessSpecific(param, b.params[i] ?? DYN))
      );
    case 'type':
      return true;
    default:
      return a.equals(b);
  }
}

/** Instantiates a generic overload with fresh type parameters, so that calls do not affect each other. */
export function instantiate(overload: OverloadDecl, fresh: () => Type): { args: readonly Type[]; result: Type } {
  if (!overload.result.open && !overload.args.some((arg) => arg.open)) return overload;
  const names = new Map<string, Type>();
  const replace = (type: Type): Type => {
    if (!type.open) return type;
    if (type.kind !== 'param') return new Type(type.kind, type.name, type.params.map(replace));
    let param = names.get(type.name);
    if (param === undefined) names.set(type.name, (param = fresh()));
    return param;
  };
  return { args: overload.args.map(replace), result: replace(overload.result) };
}
