import type { FunctionDecl, StructDecl, VariableDecl } from '../declarations.js';
import type { Call, Expr, Select } from '../ast.js';
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
export function candidates(container: string, name: string): readonly string[] {
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

/** The variables of the enclosing comprehensions, innermost last. */
export class Scopes {
  private readonly stack: VariableDecl[] = [];

  push(decl: VariableDecl): void {
    this.stack.push(decl);
  }

  pop(): void {
    this.stack.pop();
  }

  find(name: string): VariableDecl | undefined {
    return this.stack.findLast((decl) => decl.name === name);
  }
}

/**
 * Resolves names without checking types. Every overload of a function remains a candidate, and the values decide at
 * run time. Expressions with undeclared names are accepted; they fail when they are evaluated.
 */
export class Resolver {
  private readonly scopes = new Scopes();

  constructor(private readonly declarations: Declarations) {}

  resolve(expr: Expr): void {
    switch (expr.kind) {
      case 'ident': {
        const found = this.lookup(expr.name);
        if (found === undefined) return;
        expr.name = found.name;
        if (found.value !== undefined) expr.constant = found.value;
        return;
      }
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
        for (const name of names) this.scopes.push({ name, type: DYN });
        this.resolve(expr.condition);
        this.resolve(expr.step);
        this.resolve(expr.result);
        for (const _ of names) this.scopes.pop();
        return;
      }
      default:
    }
  }

  private lookup(name: string): VariableDecl | undefined {
    for (const candidate of candidates(this.declarations.container, name)) {
      const found = this.scopes.find(candidate) ?? this.declarations.variable(candidate);
      if (found !== undefined) return found;
    }
    return undefined;
  }

  private select(expr: Select): void {
    const name = expr.test ? undefined : dotted(expr);
    const found = name === undefined ? undefined : this.lookup(name);
    if (found === undefined) {
      this.resolve(expr.operand);
      return;
    }
    const { name: resolved, value } = found;
    expr.resolved = { kind: 'ident', offset: expr.offset, name: resolved };
    if (value !== undefined) expr.resolved.constant = value;
  }

  private call(expr: Call): void {
    for (const arg of expr.args) this.resolve(arg);
    const prefix = expr.target === undefined ? undefined : dotted(expr.target);
    const namespaced = prefix === undefined ? undefined : this.find(`${prefix}.${expr.name}`);
    if (namespaced !== undefined) expr.target = undefined;
    else if (expr.target !== undefined) this.resolve(expr.target);
    const found = namespaced ?? this.find(expr.name);
    if (found === undefined) return;
    expr.name = found.name;
    const count = expr.args.length + (expr.target === undefined ? 0 : 1);
    const isMember = expr.target !== undefined;
    expr.overloads = found.overloads.filter(({ member, args }) => member === isMember && args.length === count);
  }

  private find(name: string): ReturnType<Declarations['function']> {
    for (const candidate of candidates(this.declarations.container, name)) {
      const found = this.declarations.function(candidate);
      if (found !== undefined) return found;
    }
    return undefined;
  }
}

function dotted(expr: Expr): string | undefined {
  if (expr.kind === 'ident') return expr.name;
  if (expr.kind !== 'select' || expr.test) return undefined;
  const prefix = dotted(expr.operand);
  return prefix === undefined ? undefined : `${prefix}.${expr.field}`;
}
