import {
  ArrayList,
  Double,
  EntryMap,
  fromJson,
  kubernetesEnvironment,
  types,
  walk,
  type Environment,
  type Expr,
  type Program,
  type StructDecl,
  type Type,
  type Value,
} from '@annex/cel';
import type { UserInfo } from '../user/user.js';

const { STRING, BOOL, DYN, listOf, mapOf, objectType } = types;

/** The CEL cost limit of one evaluation, the same as for every expression in Kubernetes. */
const COST_LIMIT = 1_000_000;
const USER_TYPE = 'kubernetes.UserInfo';
const USER_FIELDS: Readonly<Record<string, Type>> = {
  username: STRING,
  uid: STRING,
  groups: listOf(STRING),
  extra: mapOf(STRING, listOf(STRING)),
};

const struct = (name: string): StructDecl | undefined =>
  name === USER_TYPE
    ? { type: objectType(name), field: (field) => (Object.hasOwn(USER_FIELDS, field) ? USER_FIELDS[field] : undefined) }
    : undefined;

let environments: { readonly claims: Environment; readonly user: Environment } | undefined;

function environmentOf(variable: 'claims' | 'user'): Environment {
  environments ??= {
    claims: kubernetesEnvironment('stored').extend([{ name: 'claims', type: mapOf(STRING, DYN) }], () => undefined),
    user: kubernetesEnvironment('stored').extend([{ name: 'user', type: objectType(USER_TYPE) }], struct),
  };
  return environments[variable];
}

/** A compiled expression of an authentication configuration. */
export class Expression {
  constructor(
    readonly source: string,
    private readonly variable: 'claims' | 'user',
    private readonly program: Program,
  ) {}

  /** Throws an Error that holds the reason if the evaluation fails. */
  evaluate(value: Value): Value {
    const outcome = this.program.evaluate({ [this.variable]: value }, COST_LIMIT);
    if (outcome.kind !== 'value') throw new Error(`expression '${this.source}' resulted in error: ${outcome.message}`);
    return outcome.value;
  }

  /** Reports whether the expression selects `claims.<field>`. */
  selectsClaim(field: string): boolean {
    let found = false;
    walk(this.program.expr, (node) => {
      if (isSelection(node, field)) found = true;
    });
    return found;
  }
}

function isSelection(node: Expr, field: string): boolean {
  if (node.kind === 'select') return node.field === field && isClaims(node.operand);
  if (node.kind !== 'call' || node.name !== '_?._' || node.target !== undefined) return false;
  const [operand, name] = node.args;
  return operand !== undefined && isClaims(operand) && name?.kind === 'literal' && name.value === field;
}

const isClaims = (node: Expr): boolean => node.kind === 'ident' && node.name === 'claims';

/** Determines the types that an expression may return: a rule must be boolean; the result of a mapping is checked at evaluation. */
export type Purpose = 'mapping' | 'rule';

/** Returns the compiled expression, or a text that says what is wrong with it. */
export function compileExpression(source: string, variable: 'claims' | 'user', purpose: Purpose): Expression | string {
  const { program, failure } = environmentOf(variable).compile(source);
  if (failure !== undefined) return `compilation failed: ${failure.text}`;
  const { outputType } = program;
  if (purpose === 'rule' && !outputType.equals(BOOL)) return 'must evaluate to bool';
  return new Expression(source, variable, program);
}

/** Converts claims to CEL values. Every number is a double, as in Go's decoder. */
export function claimsValue(claims: Readonly<Record<string, unknown>>): Value {
  return fromClaim(claims);
}

function fromClaim(value: unknown): Value {
  if (typeof value === 'number') return new Double(value);
  if (Array.isArray(value)) return new ArrayList(value.map(fromClaim));
  if (typeof value === 'object' && value !== null) {
    const map = new EntryMap();
    for (const [key, item] of Object.entries(value)) map.set(key, fromClaim(item));
    return map;
  }
  return fromJson(value);
}

export function userValue({ name, uid, groups, extra }: UserInfo): Value {
  return fromJson({ username: name, uid, groups: [...groups], extra: { ...extra } });
}
