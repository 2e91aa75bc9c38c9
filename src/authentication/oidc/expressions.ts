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
  type Value,
} from '@annex/cel';
import {
  type CompiledExpression,
  compileExpression as compile,
  evaluateExpression,
} from '../../expressions/expression.js';
import { structsOf } from '../../expressions/types.js';
import type { UserInfo } from '../user/user.js';

const { STRING, BOOL, DYN, listOf, mapOf, objectType } = types;

const USER_TYPE = 'kubernetes.UserInfo';
const struct = structsOf({
  [USER_TYPE]: {
    username: STRING,
    uid: STRING,
    groups: listOf(STRING),
    extra: mapOf(STRING, listOf(STRING)),
  },
});

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
    private readonly compiled: CompiledExpression,
    private readonly variable: 'claims' | 'user',
  ) {}

  get source(): string {
    return this.compiled.source;
  }

  /** Throws an Error that holds the reason if the evaluation fails. */
  evaluate(value: Value): Value {
    const evaluation = evaluateExpression(this.compiled, { [this.variable]: value });
    if (evaluation.error !== undefined) throw new Error(evaluation.error);
    return evaluation.value;
  }

  /** Reports whether the expression selects `claims.<field>`. */
  selectsClaim(field: string): boolean {
    let found = false;
    const { checked } = this.compiled;
    if (checked === undefined) return false;
    walk(checked.expr, (node) => {
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
  const compiled = compile(environmentOf(variable), source);
  const { checked, error } = compiled;
  if (purpose === 'rule' && checked?.outputType.equals(BOOL) === false) return 'must evaluate to bool';
  return error ?? new Expression(compiled, variable);
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
