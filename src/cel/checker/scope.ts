import type { FunctionDecl, StructDecl, VariableDecl } from '../declarations.js';

/** What names mean to the checker. */
export interface Declarations {
  /** Prefix that names are tried with, as `a.b`; empty for none. */
  readonly container: string;
  variable(name: string): VariableDecl | undefined;
  function(name: string): FunctionDecl | undefined;
  struct(name: string): StructDecl | undefined;
}

/** The names that a name can stand for, most specific first. */
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

/** Variables of comprehensions, innermost last. */
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
