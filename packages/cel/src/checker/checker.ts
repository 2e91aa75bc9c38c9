import {
  argumentsOf,
  type Call,
  type Comprehension,
  type Expr,
  type Ident,
  type ListExpr,
  type MapExpr,
  type Select,
  type StructExpr,
  type StructField,
} from '../ast.js';
import type { FunctionDecl, OverloadDecl, VariableDecl } from '../declarations.js';
import type { Issue } from '../source.js';
import {
  BOOL,
  BYTES,
  DOUBLE,
  DYN,
  ERROR,
  INT,
  NULL,
  STRING,
  type Type,
  UINT,
  isDyn,
  isOptional,
  listOf,
  mapOf,
  optionalOf,
  paramType,
} from '../types.js';
import { Double, Uint, type Value } from '../values/value.js';
import { type Declarations, Names, qualifiedName } from './resolver.js';
import { Substitution, instantiate, isLessSpecific } from './substitution.js';

function literalType(value: Value): Type {
  switch (typeof value) {
    case 'boolean':
      return BOOL;
    case 'string':
      return STRING;
    case 'number':
    case 'bigint':
      return INT;
    default:
  }
  if (value === null) return NULL;
  if (value instanceof Double) return DOUBLE;
  return value instanceof Uint ? UINT : BYTES;
}

/** Determines the type and the overloads of every node. They are recorded in the parsed tree itself. */
export class Checker {
  readonly issues: Issue[] = [];
  private readonly substitution = new Substitution();
  private readonly names: Names;
  private readonly typed: Expr[] = [];
  private freshCount = 0;

  constructor(private readonly declarations: Declarations) {
    this.names = new Names(declarations);
  }

  /** Checks the whole expression and returns its type. */
  check(expr: Expr): Type {
    this.visit(expr);
    for (const node of this.typed) node.type = this.substitution.apply(node.type ?? DYN, DYN);
    return expr.type ?? ERROR;
  }

  private report(offset: number, message: string): void {
    this.issues.push({ offset, message });
  }

  private undeclared(offset: number, name: string): void {
    this.report(offset, `undeclared reference to '${name}' (in container '${this.declarations.container}')`);
  }

  private mismatch(offset: number, expected: Type, found: Type): void {
    this.report(offset, `expected type '${expected.toString()}' but found '${found.toString()}'`);
  }

  private fresh(): Type {
    return paramType(`_var${this.freshCount++}`);
  }

  private set(expr: Expr, type: Type): void {
    expr.type = type;
    if (type.open) this.typed.push(expr);
  }

  private visit(expr: Expr): Type {
    switch (expr.kind) {
      case 'literal':
        expr.type = literalType(expr.value);
        break;
      case 'ident':
        this.ident(expr);
        break;
      case 'select':
        this.select(expr);
        break;
      case 'call':
        this.call(expr);
        break;
      case 'list':
        this.list(expr);
        break;
      case 'map':
        this.map(expr);
        break;
      case 'struct':
        this.struct(expr);
        break;
      case 'comprehension':
        this.comprehension(expr);
        break;
      case 'invalid':
        expr.type = ERROR;
    }
    return expr.type ?? ERROR;
  }

  private ident(expr: Ident): void {
    const found = this.names.variable(expr.name);
    if (found === undefined) {
      expr.type = ERROR;
      this.undeclared(expr.offset, expr.name);
      return;
    }
    this.resolve(expr, found);
  }

  private resolve(expr: Ident, decl: VariableDecl): void {
    expr.name = decl.name;
    if (decl.value !== undefined) expr.constant = decl.value;
    this.set(expr, decl.type);
  }

  private select(expr: Select): void {
    const name = expr.test ? undefined : qualifiedName(expr);
    const found = name === undefined ? undefined : this.names.variable(name);
    if (found !== undefined) {
      expr.resolved = { kind: 'ident', offset: expr.offset, name: found.name };
      this.resolve(expr.resolved, found);
      this.set(expr, found.type);
      return;
    }
    const type = this.field('.', expr.offset, expr.operand, expr.field);
    this.set(expr, expr.test ? BOOL : this.substitution.apply(type));
  }

  private field(operator: '.' | '.?', offset: number, operand: Expr, name: string): Type {
    const operandType = this.substitution.apply(this.visit(operand));
    const wasOptional = isOptional(operandType);
    const target = wasOptional ? operandType.elem : operandType;
    let result: Type = DYN;
    if (target.kind === 'map') result = target.elem;
    else if (target.kind === 'struct') result = this.structField(offset, target.name, name);
    else if (target.kind === 'param') this.substitution.assignable(DYN, target);
    else if (!isDyn(target) && target.kind !== 'error') {
      this.report(offset, `type '${target.toString()}' does not support field selection`);
    }
    return wasOptional || operator === '.?' ? optionalOf(result) : result;
  }

  private structField(offset: number, typeName: string, name: string): Type {
    const struct = this.declarations.struct(typeName);
    if (struct === undefined) {
      this.report(offset, `unexpected failed resolution of '${typeName}'`);
      return ERROR;
    }
    const field = struct.field(name);
    if (field === undefined) this.report(offset, `undefined field '${name}'`);
    return field ?? ERROR;
  }

  private call(expr: Call): void {
    if (expr.name === '_?._') {
      const [operand, field] = expr.args;
      if (operand === undefined || field?.kind !== 'literal' || typeof field.value !== 'string') return;
      field.type = STRING;
      this.set(expr, this.substitution.apply(this.field('.?', expr.offset, operand, field.value)));
      return;
    }
    for (const arg of expr.args) this.visit(arg);
    if (expr.target !== undefined) {
      const prefix = qualifiedName(expr.target);
      const namespaced = prefix === undefined ? undefined : this.names.function(`${prefix}.${expr.name}`);
      if (namespaced !== undefined) {
        expr.target = undefined;
        this.resolveCall(expr, namespaced);
        return;
      }
      this.visit(expr.target);
    }
    const found = this.names.function(expr.name);
    if (found === undefined) {
      expr.type = ERROR;
      this.undeclared(expr.offset, expr.name);
      return;
    }
    this.resolveCall(expr, found);
  }

  private resolveCall(expr: Call, found: FunctionDecl): void {
    expr.name = found.name;
    if (found.name === '_&&_' || found.name === '_||_') {
      this.logical(expr, found);
      return;
    }
    const types = argumentsOf(expr).map((arg) => arg.type ?? ERROR);
    const matching: OverloadDecl[] = [];
    let result: Type | undefined;
    for (const overload of found.overloads) {
      if (overload.member !== (expr.target !== undefined)) continue;
      if (overload.args.length !== types.length) continue;
      const signature = instantiate(overload, () => this.fresh());
      if (!this.substitution.assignableAll(types, signature.args)) continue;
      matching.push(overload);
      const type = this.substitution.apply(signature.result);
      if (result === undefined) result = type;
      else if (!isDyn(result) && !type.equals(result)) result = DYN;
    }
    if (result === undefined) {
      expr.type = ERROR;
      this.noMatchingOverload(expr, found, types);
      return;
    }
    expr.overloads = matching;
    this.set(expr, result);
  }

  private noMatchingOverload(expr: Call, found: FunctionDecl, types: readonly Type[]): void {
    const texts = types.map((type) => this.substitution.apply(type, DYN).toString());
    const receiver = expr.target === undefined ? '' : `${texts.shift() ?? ''}.`;
    this.report(
      expr.offset,
      `found no matching overload for '${found.name}' applied to '${receiver}(${texts.join(', ')})'`,
    );
  }

  private logical(expr: Call, found: FunctionDecl): void {
    expr.overloads = found.overloads;
    let result = BOOL;
    for (const arg of expr.args) {
      const type = arg.type ?? ERROR;
      if (this.substitution.assignable(type, BOOL)) continue;
      this.mismatch(arg.offset, BOOL, type);
      result = ERROR;
    }
    expr.type = result;
  }

  /** Joins the common type of the previous elements with the type of the next one. */
  private join(previous: Type | undefined, current: Type): Type {
    if (previous === undefined) return current;
    if (this.substitution.assignable(previous, current)) return isLessSpecific(previous, current) ? previous : current;
    return DYN;
  }

  /** The type of an element or value. For an optional element `?x`, it is the type of the content of the optional. */
  private item(expr: Expr, optional: boolean): Type {
    const type = this.visit(expr);
    if (!optional) return type;
    if (isOptional(type)) return type.elem;
    if (!isDyn(type)) this.mismatch(expr.offset, optionalOf(type), type);
    return type;
  }

  private list(expr: ListExpr): void {
    let elem: Type | undefined;
    expr.elements.forEach((element, i) => {
      elem = this.join(elem, this.item(element, expr.optional.has(i)));
    });
    this.set(expr, listOf(elem ?? this.fresh()));
  }

  private map(expr: MapExpr): void {
    let key: Type | undefined;
    let value: Type | undefined;
    for (const entry of expr.entries) {
      key = this.join(key, this.visit(entry.key));
      value = this.join(value, this.item(entry.value, entry.optional));
    }
    this.set(expr, mapOf(key ?? this.fresh(), value ?? this.fresh()));
  }

  private struct(expr: StructExpr): void {
    const decl = this.names.type(expr.name);
    if (decl === undefined) {
      this.undeclared(expr.offset, expr.name);
      expr.type = ERROR;
      return;
    }
    expr.name = decl.name;
    let type: Type = ERROR;
    if (decl.type.elem.kind !== 'struct' && this.declarations.struct(decl.name) === undefined) {
      this.report(expr.offset, `'${decl.type.elem.name}' is not a message type`);
    } else type = decl.type.elem;
    expr.type = type;
    for (const field of expr.fields) {
      const value = this.item(field.value, field.optional);
      const declared = this.fieldOfLiteral(field, type, decl);
      if (this.substitution.assignable(declared, value)) continue;
      this.report(
        field.offset,
        `expected type of field '${field.name}' is '${declared.toString()}' but provided type is '${value.toString()}'`,
      );
    }
  }

  /** The type of a field in a struct literal. `named` is the declaration that the literal's type name resolves to. */
  private fieldOfLiteral(field: StructField, type: Type, named: VariableDecl): Type {
    if (type.kind === 'struct') return this.structField(field.offset, type.name, field.name);
    if (type.kind !== 'error') return this.structField(field.offset, named.name, field.name);
    this.report(field.offset, `undefined field '${field.name}'`);
    return ERROR;
  }

  private comprehension(expr: Comprehension): void {
    this.visit(expr.range);
    const accu = this.visit(expr.accuInit);
    const [first, second] = this.iterationTypes(expr);
    this.names.push({ name: expr.accuVar, type: accu });
    this.names.push({ name: expr.iterVar, type: first });
    if (expr.iterVar2 !== undefined) this.names.push({ name: expr.iterVar2, type: second });
    this.expect(expr.condition, BOOL);
    this.expect(expr.step, accu);
    if (expr.iterVar2 !== undefined) this.names.pop();
    this.names.pop();
    const result = this.visit(expr.result);
    this.names.pop();
    this.set(expr, this.substitution.apply(result));
  }

  private expect(expr: Expr, type: Type): void {
    const found = this.visit(expr);
    if (!this.substitution.assignable(type, found)) this.mismatch(expr.offset, type, found);
  }

  private iterationTypes(expr: Comprehension): [Type, Type] {
    const range = this.substitution.apply(expr.range.type ?? ERROR);
    switch (range.kind) {
      case 'list':
        return expr.iterVar2 === undefined ? [range.elem, DYN] : [INT, range.elem];
      case 'map':
        return [range.params[0] ?? DYN, range.elem];
      case 'dyn':
      case 'error':
      case 'param':
        this.substitution.assignable(DYN, range);
        return [DYN, DYN];
      default:
        this.report(
          expr.range.offset,
          `expression of type '${range.toString()}' cannot be range of a comprehension (must be list, map, or dynamic)`,
        );
        return [ERROR, ERROR];
    }
  }
}
