import type { Expr } from './ast.js';
import type { Dialect } from './evaluator/frame.js';
import { reachYieldPoint } from './yield-point.js';
import { CostExceeded, endWork, startWork } from './work.js';
import { Checker } from './checker/checker.js';
import { type Declarations, Resolver } from './checker/resolver.js';
import type { FunctionDecl, OverloadDecl, StructDecl, VariableDecl } from './declarations.js';
import type { Library } from './library/library.js';
import { STANDARD_FUNCTIONS, STANDARD_TYPES } from './library/standard.js';
import { type Macros, STANDARD_MACROS } from './parser/macros.js';
import { Parser, type Parsed } from './parser/parser.js';
import { Program } from './program.js';
import { formatIssues, type Issue } from './source.js';
import { typeOf } from './types.js';
import { validate } from './checker/validators.js';
import { CelError } from './values/value.js';

export interface EnvironmentOptions {
  readonly libraries: readonly Library[];
  /** Require the elements of lists and maps to have one type. The arguments of `format` are exempt. */
  readonly homogeneous?: boolean;
  readonly optionalSyntax?: boolean;
  readonly escapedFields?: boolean;
  /** Allows comparisons such as `1 < 2.0` and `1u == 1`. */
  readonly crossTypeComparisons?: boolean;
  /** Rejects literals that are bound to fail at run time. */
  readonly validateLiterals?: boolean;
  readonly dialect?: Dialect;
  readonly container?: string;
  readonly variables?: readonly VariableDecl[];
  readonly structs?: (name: string) => StructDecl | undefined;
}

/** The reasons why an expression does not compile. */
export interface CompileFailure {
  readonly issues: readonly Issue[];
  /** All issues, formatted like cel-go. */
  readonly text: string;
}

export type CompileResult =
  | { readonly program: Program; readonly failure?: undefined }
  | { readonly program?: undefined; readonly failure: CompileFailure };

const CROSS_TYPE = /_(?:int64_double|int64_uint64|uint64_double|uint64_int64|double_int64|double_uint64)$/;

function functionTable({ libraries, crossTypeComparisons = true }: EnvironmentOptions): Map<string, FunctionDecl> {
  const table = new Map<string, FunctionDecl>();
  const add = (decl: FunctionDecl): void => {
    const known = table.get(decl.name);
    const merged: OverloadDecl[] = known === undefined ? [] : [...known.overloads];
    for (const overload of decl.overloads) {
      if (!crossTypeComparisons && /^_[<>]=?_$/.test(decl.name) && CROSS_TYPE.test(overload.id)) continue;
      if (!merged.some((other) => other.id === overload.id)) merged.push(overload);
    }
    table.set(decl.name, { name: decl.name, overloads: merged });
  };
  STANDARD_FUNCTIONS.forEach(add);
  for (const library of libraries) library.functions?.forEach(add);
  return table;
}

/** The variables, functions and types available to expressions. Environments are immutable; `extend` returns one with more. */
export class Environment implements Declarations {
  readonly container: string;
  private readonly macros: Macros;

  private constructor(
    private readonly options: EnvironmentOptions,
    private readonly functions: ReadonlyMap<string, FunctionDecl>,
    private readonly variables: ReadonlyMap<string, VariableDecl>,
    macros?: Macros,
  ) {
    this.container = options.container ?? '';
    this.macros =
      macros ?? new Map([...STANDARD_MACROS, ...options.libraries.flatMap((library) => [...(library.macros ?? [])])]);
  }

  static create(options: EnvironmentOptions): Environment {
    const functions = functionTable(options);
    const names = new Map(STANDARD_TYPES.map((decl) => [decl.name, decl]));
    for (const library of options.libraries) for (const decl of library.types ?? []) names.set(decl.name, decl);
    for (const decl of options.variables ?? []) names.set(decl.name, decl);
    return new Environment(options, functions, names);
  }

  /** Returns a copy with additional variables. Object types are looked up in `structs` first. */
  extend(variables: readonly VariableDecl[], structs?: (name: string) => StructDecl | undefined): Environment {
    const names = new Map(this.variables);
    for (const decl of variables) names.set(decl.name, decl);
    const outer = this.options.structs;
    const lookup = structs === undefined ? outer : (name: string) => structs(name) ?? outer?.(name);
    const options = lookup === undefined ? this.options : { ...this.options, structs: lookup };
    return new Environment(options, this.functions, names, this.macros);
  }

  /** Returns a copy with the functions of another library, which replace functions of the same name. */
  with(library: Library): Environment {
    const functions = new Map(this.functions);
    for (const decl of library.functions ?? []) functions.set(decl.name, decl);
    const options = { ...this.options, libraries: [...this.options.libraries, library] };
    return new Environment(options, functions, this.variables, this.macros);
  }

  /** Returns a variable, or a constant for the name of a type that has literals. */
  variable(name: string): VariableDecl | undefined {
    const known = this.variables.get(name);
    if (known !== undefined) return known;
    const decl = this.options.structs?.(name);
    if (decl?.create === undefined) return undefined;
    // As in cel-go, the type is defined only in literals. Any other use of its name fails at run time.
    return { name, type: typeOf(decl.type), value: new CelError(`reference to undefined type: ${name}`) };
  }

  function(name: string): FunctionDecl | undefined {
    return this.functions.get(name);
  }

  struct(name: string): StructDecl | undefined {
    return this.options.structs?.(name);
  }

  /** Parses and checks an expression. */
  compile(source: string): CompileResult {
    reachYieldPoint();
    const parsed = this.parsed(source);
    if (parsed.issues.length > 0) return failure(source, parsed.issues);
    const checker = new Checker(this);
    checker.check(parsed.expr);
    if (checker.issues.length > 0) return failure(source, checker.issues);
    const issues = this.validate(parsed.expr);
    if (issues.length > 0) return failure(source, issues);
    return this.program(source, parsed.expr);
  }

  /** Runs the validators as an evaluation: they compile the patterns of the expression, and some take long. */
  private validate(expr: Expr): readonly Issue[] {
    startWork();
    try {
      return validate(expr, {
        literals: this.options.validateLiterals ?? false,
        homogeneous: this.options.homogeneous ?? false,
      });
    } catch (error) {
      if (error instanceof CostExceeded)
        return [{ offset: -1, message: 'the regular expression patterns are too large' }];
      throw error;
    } finally {
      endWork();
    }
  }

  /** Parses an expression without checking types. Only syntax errors are reported. */
  parse(source: string): CompileResult {
    const parsed = this.parsed(source);
    if (parsed.issues.length > 0) return failure(source, parsed.issues);
    new Resolver(this).resolve(parsed.expr);
    return this.program(source, parsed.expr);
  }

  private program(source: string, expr: Expr): CompileResult {
    return { program: new Program(source, expr, (name) => this.struct(name), this.options.dialect) };
  }

  private parsed(source: string): Parsed {
    return Parser.parse(source, {
      macros: this.macros,
      optionalSyntax: this.options.optionalSyntax ?? false,
      escapedFields: this.options.escapedFields ?? true,
    });
  }
}

function failure(source: string, issues: readonly Issue[]): CompileResult {
  return { failure: { issues, text: formatIssues(source, issues) } };
}
