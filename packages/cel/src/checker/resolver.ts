import type { FunctionDecl, StructDecl, VariableDecl } from '../declarations.js';
import { argumentsOf, type Call, type Expr, type Ident, type Select } from '../ast.js';
import { DYN } from '../types.js';

/** The declarations that the checker resolves names against. */
export interface Declarations {
  /** The container whose prefixes are tried when resolving a name, such as `a.b`; empty if there is no container. */
  readonly container: string;
  variable(name: string): VariableDecl | undefined;
  function(name: string): FunctionDecl | undefined;
  struct(name: string): StructDecl | undefined;
}

/** The qualified names that a name may refer to, most specific first. */
function candidates(container: string, name: string): readonly string[] {
  if (name.startsWith('.')) return [name.slice(1)];
  if (container === '') return [name];
  const names: string[] = [];
  for (let prefix = container; prefix !== '';) {
    names.push(`${prefix}.${name}`);
    const dot = prefix.lastIndexOf('.');
    prefix = dot < 0 ? '' : prefix.slice(0, dot);
  }
  names.push(name);
  return names;
}

/** Returns the name that a chain of selections spells, such as `a.b`. Undefined for other expressions. */
export function qualifiedName(expr: Expr): string | undefined {
  if (expr.kind === 'ident') return expr.name;
  if (expr.kind !== 'select' || expr.test) return undefined;
  const prefix = qualifiedName(expr.operand);
  return prefix === undefined ? undefined : `${prefix}.${expr.field}`;
}

/** The names that are visible at the position of a walk: the declarations, and the variables of the enclosing comprehensions. */
export class Names {
  /** The variables, innermost last. */
  private readonly locals: VariableDecl[] = [];

  constructor(private readonly declarations: Declarations) {}

  push(decl: VariableDecl): void {
    this.locals.push(decl);
  }

  pop(): void {
    this.locals.pop();
  }

  /** A local variable hides all declarations whose names begin with its own, such as `a.b` if `a` is local. */
  variable(name: string): VariableDecl | undefined {
    const first = name.split('.', 1)[0];
    const local = this.locals.findLast((decl) => decl.name === first);
    if (local !== undefined) return first === name ? local : undefined;
    return this.declared(name);
  }

  /** The type that a name refers to. Variables do not hide types. */
  type(name: string): VariableDecl | undefined {
    return this.declared(name, ({ type }) => type.kind === 'type');
  }

  private declared(name: string, accepts: (decl: VariableDecl) => boolean = () => true): VariableDecl | undefined {
    for (const candidate of candidates(this.declarations.container, name)) {
      const found = this.declarations.variable(candidate);
      if (found !== undefined && accepts(found)) return found;
    }
    return undefined;
  }

  function(name: string): FunctionDecl | undefined {
    for (const candidate of candidates(this.declarations.container, name)) {
      const found = this.declarations.function(candidate);
      if (found !== undefined) return found;
    }
    return undefined;
  }
}

/**
 * Resolves names without checking types. Every overload of a function remains a candidate, and the values decide at
 * run time. Expressions with undeclared names are accepted; they fail when they are evaluated.
 */
export class Resolver {
  private readonly names: Names;

  constructor(declarations: Declarations) {
    this.names = new Names(declarations);
  }

  resolve(expr: Expr): void {
    switch (expr.kind) {
      case 'ident':
        this.ident(expr, expr.name);
        return;
      case 'select':
        this.select(expr);
        return;
      case 'call':
        this.call(expr);
        return;
      case 'list':
        for (const element of expr.elements) this.resolve(element);
        return;
      case 'map':
        for (const entry of expr.entries) {
          this.resolve(entry.key);
          this.resolve(entry.value);
        }
        return;
      case 'struct':
        for (const field of expr.fields) this.resolve(field.value);
        return;
      case 'comprehension': {
        this.resolve(expr.range);
        this.resolve(expr.accuInit);
        const names = [expr.accuVar, expr.iterVar, expr.iterVar2].filter((name) => name !== undefined);
        for (const name of names) this.names.push({ name, type: DYN });
        this.resolve(expr.condition);
        this.resolve(expr.step);
        this.resolve(expr.result);
        for (const _ of names) this.names.pop();
        return;
      }
      default:
    }
  }

  /** Sets the name and value of an identifier. Reports whether the name is declared. */
  private ident(expr: Ident, name: string): boolean {
    const found = this.names.variable(name);
    if (found === undefined) return false;
    expr.name = found.name;
    if (found.value !== undefined) expr.constant = found.value;
    return true;
  }

  private select(expr: Select): void {
    const name = expr.test ? undefined : qualifiedName(expr);
    const whole: Ident = { kind: 'ident', offset: expr.offset, name: '' };
    if (name !== undefined && this.ident(whole, name)) expr.resolved = whole;
    else this.resolve(expr.operand);
  }

  private call(expr: Call): void {
    for (const arg of expr.args) this.resolve(arg);
    const prefix = expr.target === undefined ? undefined : qualifiedName(expr.target);
    const namespaced = prefix === undefined ? undefined : this.names.function(`${prefix}.${expr.name}`);
    if (namespaced !== undefined) expr.target = undefined;
    else if (expr.target !== undefined) this.resolve(expr.target);
    const found = namespaced ?? this.names.function(expr.name);
    if (found === undefined) return;
    expr.name = found.name;
    const count = argumentsOf(expr).length;
    const isMember = expr.target !== undefined;
    expr.overloads = found.overloads.filter(({ member, args }) => member === isMember && args.length === count);
  }
}
