import type { Expr } from './ast.js';
import { walk } from './ast.js';
import { Checker } from './checker/checker.js';
import type { Declarations } from './checker/scope.js';
import type { FunctionDecl, OverloadDecl, StructDecl, VariableDecl } from './declarations.js';
import { parseDuration, parseTimestamp } from './values/time.js';
import { compileRegex } from './library/regex-cache.js';
import type { Library } from './library/library.js';
import { STANDARD_FUNCTIONS, STANDARD_TYPES } from './library/standard.js';
import type { Macros } from './parser/macros.js';
import { STANDARD_MACROS } from './parser/macros.js';
import { Parser } from './parser/parser.js';
import { Program } from './program.js';
import type { Issue } from './source.js';
import { formatIssues } from './source.js';
import type { Type } from './types.js';
import { isOptional } from './types.js';
import { CelError } from './values/value.js';

export interface EnvironmentOptions {
  readonly libraries: readonly Library[];
  /** Lists and maps may hold one type only. */
  readonly homogeneous?: boolean;
  readonly optionalSyntax?: boolean;
  readonly escapedFields?: boolean;
  /** `1 < 2.0`, `1u == 1` */
  readonly crossTypeComparisons?: boolean;
  /** Literals that are bound to fail are refused. */
  readonly validateLiterals?: boolean;
  readonly container?: string;
  readonly variables?: readonly VariableDecl[];
  readonly structs?: (name: string) => StructDecl | undefined;
}

/** Why an expression does not compile. */
export interface CompileFailure {
  readonly issues: readonly Issue[];
  /** All issues as the reference implementation prints them. */
  readonly text: string;
}

export type CompileResult =
  | { readonly program: Program; readonly failure?: undefined }
  | { readonly program?: undefined; readonly failure: CompileFailure };

const CROSS_TYPE = /_(?:int64_double|int64_uint64|uint64_double|uint64_int64|double_int64|double_uint64)$/;

function functionTable(libraries: readonly Library[], crossType: boolean): Map<string, FunctionDecl> {
  const table = new Map<string, FunctionDecl>();
  const add = (decl: FunctionDecl): void => {
    const known = table.get(decl.name);
    const merged: OverloadDecl[] = known === undefined ? [] : [...known.overloads];
    for (const overload of decl.overloads) {
      if (!crossType && /^_[<>]=?_$/.test(decl.name) && CROSS_TYPE.test(overload.id)) continue;
      if (!merged.some((other) => other.id === overload.id)) merged.push(overload);
    }
    table.set(decl.name, { name: decl.name, overloads: merged });
  };
  STANDARD_FUNCTIONS.forEach(add);
  for (const library of libraries) library.functions?.forEach(add);
  return table;
}

/** What expressions may use. Environments are immutable; `extend` adds variables and types. */
export class Environment implements Declarations {
  readonly container: string;
  readonly homogeneous: boolean;
  private readonly options: EnvironmentOptions;
  private readonly macros: Macros;

  private constructor(
    options: EnvironmentOptions,
    private readonly functions: ReadonlyMap<string, FunctionDecl>,
    private readonly variables: ReadonlyMap<string, VariableDecl>,
    macros?: Macros,
  ) {
    this.options = options;
    this.container = options.container ?? '';
    this.homogeneous = options.homogeneous ?? false;
    this.macros =
      macros ?? new Map([...STANDARD_MACROS, ...options.libraries.flatMap((library) => [...(library.macros ?? [])])]);
  }

  static create(options: EnvironmentOptions): Environment {
    const functions = functionTable(options.libraries, options.crossTypeComparisons ?? true);
    const names = new Map(STANDARD_TYPES.map((decl) => [decl.name, decl]));
    for (const library of options.libraries) for (const decl of library.types ?? []) names.set(decl.name, decl);
    for (const decl of options.variables ?? []) names.set(decl.name, decl);
    return new Environment(options, functions, names);
  }

  /** The same environment with more variables, and object types looked up first in `structs`. */
  extend(variables: readonly VariableDecl[], structs?: (name: string) => StructDecl | undefined): Environment {
    const names = new Map(this.variables);
    for (const decl of variables) names.set(decl.name, decl);
    const outer = this.options.structs;
    const lookup = structs === undefined ? outer : (name: string) => structs(name) ?? outer?.(name);
    const options = lookup === undefined ? this.options : { ...this.options, structs: lookup };
    return new Environment(options, this.functions, names, this.macros);
  }

  variable(name: string): VariableDecl | undefined {
    return this.variables.get(name);
  }

  function(name: string): FunctionDecl | undefined {
    return this.functions.get(name);
  }

  struct(name: string): StructDecl | undefined {
    return this.options.structs?.(name);
  }

  /** Parses, checks and prepares an expression. */
  compile(source: string): CompileResult {
    const parsed = new Parser(source, {
      macros: this.macros,
      optionalSyntax: this.options.optionalSyntax ?? false,
      escapedFields: this.options.escapedFields ?? false,
    }).parse();
    if (parsed.issues.length > 0) return failure(source, parsed.issues);
    const checker = new Checker(this);
    checker.check(parsed.expr);
    if (checker.issues.length > 0) return failure(source, checker.issues);
    if (this.options.validateLiterals === true) {
      const issues = validate(parsed.expr);
      if (issues.length > 0) return failure(source, issues);
    }
    return { program: new Program(source, parsed.expr, (name) => this.struct(name)) };
  }
}

function failure(source: string, issues: readonly Issue[]): CompileResult {
  return { failure: { issues, text: formatIssues(source, issues) } };
}

const LITERAL_CHECKS = new Map<string, (text: string) => boolean>([
  ['duration', (text) => parseDuration(text) !== undefined],
  [
    'timestamp',
    (text) => {
      const at = parseTimestamp(text);
      return at !== undefined && !(at instanceof CelError);
    },
  ],
  ['matches', (text) => typeof compileRegex(text) !== 'string'],
]);

/** Finds literals that cannot be what a function takes, and mixed lists and maps. */
function validate(expr: Expr): Issue[] {
  const issues: Issue[] = [];
  for (const name of LITERAL_CHECKS.keys())
    walk(expr, (node) => {
      checkLiteral(node, name, issues);
    });
  walk(expr, (node) => {
    if (node.kind === 'list') {
      const types = node.elements.map((element, i) => [element, content(element.type, node.optional.has(i))] as const);
      const first = types[0]?.[1];
      const odd = types.find(([, type]) => first !== undefined && type !== undefined && !equivalent(first, type));
      if (odd !== undefined) mismatch(issues, odd[0], first, odd[1]);
    }
  });
  walk(expr, (node) => {
    if (node.kind !== 'map') return;
    const [head] = node.entries;
    if (head === undefined) return;
    const key = head.key.type;
    const value = content(head.value.type, head.optional);
    for (const entry of node.entries) {
      const type = content(entry.value.type, entry.optional);
      if (key !== undefined && entry.key.type !== undefined && !equivalent(key, entry.key.type)) {
        mismatch(issues, entry.key, key, entry.key.type);
      }
      if (value !== undefined && type !== undefined && !equivalent(value, type))
        mismatch(issues, entry.value, value, type);
    }
  });
  return issues;
}

function checkLiteral(node: Expr, name: string, issues: Issue[]): void {
  if (node.kind !== 'call' || node.name !== name) return;
  const [arg] = node.args;
  if (arg?.kind !== 'literal' || typeof arg.value !== 'string') return;
  if (LITERAL_CHECKS.get(name)?.(arg.value) === false) {
    issues.push({ offset: arg.offset, message: `invalid ${name} argument` });
  }
}

const content = (type: Type | undefined, optional: boolean): Type | undefined =>
  optional && type !== undefined && isOptional(type) ? type.elem : type;

const equivalent = (a: Type, b: Type): boolean => a.toString() === b.toString();

function mismatch(issues: Issue[], at: Expr, expected: Type | undefined, found: Type | undefined): void {
  issues.push({ offset: at.offset, message: `expected type '${String(expected)}' but found '${String(found)}'` });
}
