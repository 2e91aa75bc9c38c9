import {
  CelError,
  CelMap,
  types,
  type Bindings,
  type Environment,
  type StructDecl,
  type Type,
  type Value,
} from '@annex/cel';
import { quote } from '../../apimachinery/meta/meta.js';
import { compileExpression, type CompiledExpression } from '../../expressions/expression.js';
import { PER_CALL_LIMIT } from '../../expressions/limits.js';
import { VARIABLES_TYPE } from './types.js';

const { DYN, listOf, mapOf } = types;

/** Returns the type of a variable from that of its expression: object types and the types of libraries become dynamic. */
function seenType(type: Type | undefined): Type {
  switch (type?.kind) {
    case 'bool':
    case 'bytes':
    case 'double':
    case 'duration':
    case 'int':
    case 'null':
    case 'string':
    case 'timestamp':
    case 'uint':
      return type.nullable ? DYN : type;
    case 'list':
      return listOf(seenType(type.params[0]));
    case 'map':
      return mapOf(seenType(type.params[0]), seenType(type.params[1]));
    default:
      return DYN;
  }
}

/** The variables of a policy. Each can use the ones before it. */
export class Composition {
  private readonly fields = new Map<string, Type>();
  private readonly compiled = new Map<string, CompiledExpression>();

  private readonly struct: StructDecl = {
    type: VARIABLES_TYPE,
    field: (name) => this.fields.get(name),
  };

  /** Returns the environment with `variables`, including those that are added later. */
  within(environment: Environment): Environment {
    return environment.extend([{ name: 'variables', type: VARIABLES_TYPE }], (name) =>
      name === VARIABLES_TYPE.name ? this.struct : undefined,
    );
  }

  /** Compiles a variable's expression in an environment returned by `within`, and declares the variable. */
  add(environment: Environment, name: string, source: string): CompiledExpression {
    const compiled = compileExpression(environment, source);
    this.fields.set(name, seenType(compiled.checked?.outputType));
    this.compiled.set(name, compiled);
    return compiled;
  }

  /** Declares a variable whose type is already known. */
  declare(name: string, type: Type | undefined): void {
    this.fields.set(name, seenType(type));
  }

  expression(name: string): CompiledExpression | undefined {
    return this.compiled.get(name);
  }

  get size(): number {
    return this.compiled.size;
  }

  names(): readonly string[] {
    return [...this.compiled.keys()];
  }
}

/** The value of `variables`. Evaluates each variable on first use, and accumulates the cost. */
export class LazyVariables extends CelMap {
  private readonly values = new Map<string, Value>();
  private spent = 0;

  constructor(
    private readonly composition: Composition,
    private readonly bindings: () => Bindings,
  ) {
    super();
  }

  get size(): number {
    return this.composition.size;
  }

  /** Returns the cost of the evaluations since the last call. */
  takeCost(): number {
    const cost = this.spent;
    this.spent = 0;
    return cost;
  }

  find(key: Value): Value | undefined {
    return typeof key === 'string' ? this.field(key) : new CelError('no such overload');
  }

  field(name: string): Value | undefined {
    const known = this.values.get(name);
    if (known !== undefined) return known;
    const compiled = this.composition.expression(name);
    if (compiled === undefined) return undefined;
    const value = this.evaluate(name, compiled);
    this.values.set(name, value);
    return value;
  }

  private evaluate(name: string, { program, error }: CompiledExpression): Value {
    if (program === undefined) {
      return new CelError(`composited variable ${quote(name)} fails to compile: ${error ?? ''}`);
    }
    const outcome = program.evaluate(this.bindings(), PER_CALL_LIMIT);
    this.spent += outcome.cost;
    if (outcome.kind === 'value') return outcome.value;
    return new CelError(`composited variable ${quote(name)} fails to evaluate: ${outcome.message}`);
  }

  keys(): readonly Value[] {
    return this.composition.names();
  }

  override equals(other: CelMap): boolean | CelError {
    return other instanceof LazyVariables ? other === this : new CelError('no such overload');
  }
}
